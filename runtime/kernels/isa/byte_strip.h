#pragma once

// Strips (conv_strip.h) of words (byte_words.h), the left side of a convolution of bytes. What a word holds
// of a group's input is chosen by how many words an output reads:
//   channels of one place; tap (h, w) of a plane of words is that of the convolution;
//   columns of one channel, a dilation apart, which are taps that follow one another: for few channels.
// Padding is the zero point in the first place.

#include "runtime/kernels/isa/byte_words.h"
#include "runtime/kernels/isa/conv_strip.h"

namespace axrun::runtime::AXRUN_ISA {

struct WordForm {
  bool of_columns;
  int64_t channels, planes;  ///< of the input; of words
  int64_t dilation;          ///< between the columns of a word
  ConvGeometry geometry;     ///< of words
  int64_t taps;              ///< of a plane of words

  int64_t steps() const { return planes * taps; }
};

static inline WordForm word_form(const ConvGeometry& g, int64_t channels) {
  const int64_t terms = word_terms();
  const int64_t by_columns = channels * divide_up(g.kernel_width, terms);
  const int64_t by_channels = divide_up(channels, terms) * g.kernel_width;
  WordForm form = {};
  form.of_columns = by_columns < by_channels;
  form.channels = channels;
  form.planes = form.of_columns ? channels : divide_up(channels, terms);
  form.dilation = g.dilation_width;
  form.geometry = g;
  if (form.of_columns) {
    form.geometry.kernel_width = divide_up(g.kernel_width, terms);
    form.geometry.dilation_width = terms * g.dilation_width;
  }
  form.taps = form.geometry.kernel_height * form.geometry.kernel_width;
  return form;
}

/// The input of one group.
struct ByteInput {
  Byte type;
  int32_t zero_point;
  const uint8_t* x;    ///< the first plane
  const uint8_t* end;  ///< of what may be read
  int64_t plane;       ///< between planes
};

/// Scratch of fill_words, in bytes: rows with their padding, words of a row.
int64_t word_rows_bytes(const WordForm& form, const Strip& strip);
/// Writes the strip's part from output row `row0` on; up to 16 words past its end are overwritten with
/// anything.
void fill_words(const WordForm& form, const Strip& strip, const ByteInput& input, int64_t row0, void* scratch,
                uint32_t* to);

}  // namespace axrun::runtime::AXRUN_ISA
