#pragma once

#include <memory>
#include <string>
#include <vector>

#include "ir/infer.h"
#include "search/algebra/rule.h"
#include "verify/bilinear_identity.h"

namespace axrun::search::algebra {

/// A convolution of planes by constant filters of 3 x 3, without strides, dilations and groups: what bilinear
/// algorithms are for.
struct BilinearSite {
  int node = 0;  ///< of the graph
  ir::ValueId image = ir::absent, filters = ir::absent, bias = ir::absent, result = ir::absent;
  int64_t batch = 0, channels = 0, height = 0, width = 0, results = 0;  ///< results: of channels
  std::vector<int64_t> pads;                                            ///< top, left, bottom, right

  /// Equal for sites of which one proof, and one measurement, is as good as another.
  std::string kind() const;
};

/// Those of a graph whose shapes are all known.
std::vector<BilinearSite> bilinear_sites(const ir::Inference& facts);

/// A site, and the side of the tiles of results that are computed at once.
struct BilinearChoice {
  BilinearSite site;
  int outputs = 0;
};

/// What stands for a site in the graph that was made.
struct BilinearNodes {
  std::vector<ir::ValueId> values;       ///< of all its nodes
  ir::ValueId transformed = ir::absent;  ///< its filters: points x results x channels
};
struct BilinearGraph {
  std::shared_ptr<ir::Graph> graph;
  std::vector<BilinearNodes> nodes;  ///< by choice
};
/// The graph with these convolutions computed by their bilinear algorithms, in ordinary nodes: image and
/// filters are transformed, one product of matrices for every point, and the results transformed back. Those
/// on constants are there as well, to be folded. It has no limits yet (bilinear_limit).
BilinearGraph with_bilinear(const ir::Graph& graph, const std::vector<BilinearChoice>& choices);

/// Pairs of expressions that have to be equal for the nodes of a choice to compute what the site does, for
/// any coefficients that verify::prove_bilinear has proved: (1) the nodes of with_bilinear, whose matrices of
/// coefficients are operands, and one convolution with larger filters, of which there are outputs x outputs
/// for each filter: sums, over the points, of products of coefficients with the filter's weights; (2) the
/// convolution of the site, and one with such filters in which the weights are shifted, which is what (1) has
/// by those coefficients.
std::vector<Sides> bilinear_obligations(const BilinearChoice& choice);

/// Of tiles of outputs x outputs.
verify::BilinearCoefficients bilinear_coefficients(int outputs);
/// By which rounding errors may grow with them, next to the largest values of a tile
/// (BilinearAlgorithm::growth).
double bilinear_growth(int outputs);
/// What the choice's transformed filters take.
size_t transformed_bytes(const BilinearChoice& choice);

/// Up to which magnitude of the image's elements nothing overflows on the way, whatever they are, where sums
/// of the magnitudes of transformed filters over channels are 1 at most.
double bilinear_room(int outputs);

}  // namespace axrun::search::algebra
