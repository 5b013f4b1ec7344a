#include "runtime/optimizer/bilinear_question.h"

#include <algorithm>
#include <cmath>

#include "runtime/optimizer/worker_protocol.h"
#include "runtime/warm/lists.h"

namespace axrun::runtime {
namespace {

using cache::Reader;
using cache::Writer;
using search::algebra::BilinearChoice;
using search::algebra::BilinearNodes;
using search::algebra::BilinearSite;

void end_of_bilinear(const Reader& in) { require_finished(in, "bilinear algorithms"); }

void put(Writer& out, const BilinearSite& site) {
  out.put(site.node).put(site.image).put(site.filters).put(site.bias).put(site.result);
  out.put(site.batch).put(site.channels).put(site.height).put(site.width).put(site.results);
  put_all(out, site.pads);
}
BilinearSite site(Reader& in) {
  BilinearSite read;
  read.node = in.get<int>();
  for (ir::ValueId* const id : {&read.image, &read.filters, &read.bias, &read.result})
    *id = in.get<ir::ValueId>();
  for (int64_t* const size : {&read.batch, &read.channels, &read.height, &read.width, &read.results})
    *size = in.get<int64_t>();
  read.pads = get_all<int64_t>(in);
  return read;
}

void put(Writer& out, const BilinearChoice& choice) {
  put(out, choice.site);
  out.put(choice.outputs);
}
BilinearChoice choice(Reader& in) {
  BilinearChoice read;
  read.site = site(in);
  read.outputs = in.get<int>();
  return read;
}

}  // namespace

std::string write_convolutions(const std::vector<FoundConvolution>& found) {
  Writer out;
  put_count(out, found.size());
  for (const FoundConvolution& one : found) {
    put(out, one.site);
    out.put(one.kind);
  }
  return std::move(out).text();
}

std::vector<FoundConvolution> read_convolutions(std::string_view bytes, size_t nodes, size_t values) {
  Reader in(bytes);
  std::vector<FoundConvolution> found(in.count(68));
  const auto is_value = [&](ir::ValueId id) { return id >= 0 && static_cast<size_t>(id) < values; };
  for (FoundConvolution& one : found) {
    one.site = site(in);
    one.kind = in.text(longest_name);
    const BilinearSite& where = one.site;
    if (where.node < 0 || static_cast<size_t>(where.node) >= nodes || !is_value(where.image) ||
        !is_value(where.filters) || !is_value(where.result) ||
        (where.bias != ir::absent && !is_value(where.bias)))
      in.fail();
  }
  end_of_bilinear(in);
  return found;
}

std::string write(const BilinearQuestion& question) {
  Writer out;
  out.put(question.outline);
  put_count(out, question.choices.size());
  for (const BilinearChoice& one : question.choices) put(out, one);
  return std::move(out).text();
}

BilinearQuestion read_bilinear_question(std::string_view bytes) {
  Reader in(bytes);
  BilinearQuestion question;
  question.outline = in.text(longest_request);
  question.choices.resize(in.count(68));
  for (BilinearChoice& one : question.choices) one = choice(in);
  end_of_bilinear(in);
  return question;
}

std::string write(const BilinearAnswer& answer) {
  Writer out;
  out.put(answer.image);
  put_count(out, answer.nodes.size());
  for (const BilinearNodes& nodes : answer.nodes) {
    put_all(out, nodes.values);
    out.put(nodes.transformed);
  }
  put_all(out, answer.rooms);
  put_all(out, answer.bytes);
  return std::move(out).text();
}

BilinearAnswer read_bilinear_answer(std::string_view bytes, size_t choices) {
  Reader in(bytes);
  BilinearAnswer answer;
  answer.image = in.text(longest_request);
  answer.nodes.resize(in.count(8));
  for (BilinearNodes& nodes : answer.nodes) {
    nodes.values = get_all<ir::ValueId>(in);
    nodes.transformed = in.get<ir::ValueId>();
  }
  answer.rooms = get_all<double>(in);
  answer.bytes = get_all<double>(in);
  const auto is_amount = [](double amount) { return std::isfinite(amount) && amount >= 0; };
  if (answer.nodes.size() != choices || answer.rooms.size() != choices || answer.bytes.size() != choices ||
      !std::all_of(answer.rooms.begin(), answer.rooms.end(), is_amount) ||
      !std::all_of(answer.bytes.begin(), answer.bytes.end(), is_amount))
    in.fail();
  end_of_bilinear(in);
  return answer;
}

std::string write_choice(const BilinearChoice& one) {
  Writer out;
  put(out, one);
  return std::move(out).text();
}

BilinearChoice read_choice(std::string_view bytes) {
  Reader in(bytes);
  BilinearChoice one = choice(in);
  end_of_bilinear(in);
  return one;
}

std::string write(const BilinearProof& proof) {
  Writer out;
  out.put(proof.verdict).put(proof.growth);
  return std::move(out).text();
}

BilinearProof read_bilinear_proof(std::string_view bytes) {
  Reader in(bytes);
  BilinearProof proof;
  proof.verdict = in.get<verify::Verdict>();
  proof.growth = in.get<double>();
  if (proof.verdict > verify::Verdict::unknown) in.fail();
  end_of_bilinear(in);
  return proof;
}

}  // namespace axrun::runtime
