#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "search/algebra/bilinear_graph.h"

namespace axrun::runtime {

// What is asked about bilinear algorithms, and what is answered, as bytes. All readers throw Error(user) for
// bytes that make no sense. Which convolutions of a graph can be computed so is asked with the outline alone.

struct FoundConvolution {
  search::algebra::BilinearSite site;
  std::string kind;  ///< BilinearSite::kind
};
std::string write_convolutions(const std::vector<FoundConvolution>& found);
/// Of a graph of so many nodes and values.
std::vector<FoundConvolution> read_convolutions(std::string_view bytes, size_t nodes, size_t values);

/// What is the graph in which these are computed so?
struct BilinearQuestion {
  std::string outline;
  std::vector<search::algebra::BilinearChoice> choices;
};
std::string write(const BilinearQuestion& question);
BilinearQuestion read_bilinear_question(std::string_view bytes);

struct BilinearAnswer {
  std::string image;                                  ///< of the graph (runtime/warm/graph_image.h)
  std::vector<search::algebra::BilinearNodes> nodes;  ///< by choice
  /// By choice: bilinear_room, and what the transformed filters take.
  std::vector<double> rooms, bytes;
};
std::string write(const BilinearAnswer& answer);
/// For so many choices.
BilinearAnswer read_bilinear_answer(std::string_view bytes, size_t choices);

/// Whether an algorithm is what the convolution is.
struct BilinearProof {
  verify::Verdict verdict = verify::Verdict::unknown;
  double growth = 0;  ///< bilinear_growth
};
std::string write_choice(const search::algebra::BilinearChoice& choice);
search::algebra::BilinearChoice read_choice(std::string_view bytes);
std::string write(const BilinearProof& proof);
BilinearProof read_bilinear_proof(std::string_view bytes);

}  // namespace axrun::runtime
