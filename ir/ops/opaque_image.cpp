// ImageDecoder: BMP, JPEG, JPEG 2000, PNG, PNM, TIFF and WebP, decoded by Leptonica (liblept). It is found
// when it is first needed, so that nobody else waits for it and its codecs at the start; a build without its
// header has no decoder.
#include "ir/ops/opaque_functions.h"

#if __has_include(<leptonica/allheaders.h>)
#include <dlfcn.h>
#include <leptonica/allheaders.h>
#define AXRUN_HAS_LEPTONICA 1
#endif

namespace axrun::ir {

#ifdef AXRUN_HAS_LEPTONICA
namespace {

/// The functions of the library that are used; null where it is not installed.
struct Leptonica {
  decltype(&::pixReadMem) read = nullptr;
  decltype(&::pixConvertTo32) to_32_bits = nullptr;
  decltype(&::pixGetDimensions) dimensions = nullptr;
  decltype(&::pixGetData) data = nullptr;
  decltype(&::pixGetWpl) words_per_line = nullptr;
  decltype(&::pixDestroy) destroy = nullptr;

  static const Leptonica* found() {
    static const Leptonica library;
    return library.destroy != nullptr ? &library : nullptr;
  }

 private:
  Leptonica() {
    void* file = dlopen("liblept.so.5", RTLD_NOW | RTLD_LOCAL);
    if (file == nullptr) return;
    const auto find = [file](auto& function, const char* name) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(file, name));
      return function != nullptr;
    };
    decltype(&::setMsgSeverity) set_severity = nullptr;
    const bool complete = find(read, "pixReadMem") && find(to_32_bits, "pixConvertTo32") &&
                          find(dimensions, "pixGetDimensions") && find(data, "pixGetData") &&
                          find(words_per_line, "pixGetWpl") && find(set_severity, "setMsgSeverity");
    if (!complete || !find(destroy, "pixDestroy")) return;
    set_severity(L_SEVERITY_NONE);  // what cannot be decoded is an answer
  }
};

/// An image that the library allocated.
class Image {
 public:
  Image(const Leptonica& library, PIX* pixels) : library_(library), pixels_(pixels) {}
  ~Image() {
    if (pixels_ != nullptr) library_.destroy(&pixels_);
  }
  Image(const Image&) = delete;
  Image& operator=(const Image&) = delete;
  PIX* get() const { return pixels_; }

 private:
  const Leptonica& library_;
  PIX* pixels_;
};

}  // namespace

Tensors decode_image_function(const Stage& stage, const Tensors& arguments) {
  const Leptonica* library = Leptonica::found();
  if (library == nullptr) {
    throw Error(Fault::unsupported, "ImageDecoder needs Leptonica (liblept.so.5), which is not installed");
  }
  using Pixels = ImageFormat::Pixels;
  const Pixels pixels = payload_of<ImageFormat>(stage).pixels;
  const int64_t channels = pixels == Pixels::grayscale ? 1 : 3;
  const Tensor& file = arguments[0];
  const Image read(*library, library->read(file.as<l_uint8>(), static_cast<size_t>(file.size())));
  const Image image(*library, read.get() == nullptr ? nullptr : library->to_32_bits(read.get()));
  if (image.get() == nullptr) return {Tensor::allocate(ElementType::u8, {0, 0, channels})};
  l_int32 width = 0, height = 0;
  library->dimensions(image.get(), &width, &height, nullptr);
  Tensor result = Tensor::allocate_uninitialized(ElementType::u8, {height, width, channels});
  auto* to = result.as<uint8_t>();
  for (l_int32 y = 0; y < height; ++y) {
    const l_uint32* line =
        library->data(image.get()) + static_cast<ptrdiff_t>(y) * library->words_per_line(image.get());
    for (l_int32 x = 0; x < width; ++x) {
      const auto red = static_cast<uint8_t>(line[x] >> L_RED_SHIFT);
      const auto green = static_cast<uint8_t>(line[x] >> L_GREEN_SHIFT);
      const auto blue = static_cast<uint8_t>(line[x] >> L_BLUE_SHIFT);
      if (pixels == Pixels::grayscale) {
        // Luma of ITU-R 601-2 in 16 bits, as Pillow has it.
        *to++ = static_cast<uint8_t>((19595u * red + 38470u * green + 7471u * blue + 0x8000u) >> 16);
      } else {
        *to++ = pixels == Pixels::rgb ? red : blue;
        *to++ = green;
        *to++ = pixels == Pixels::rgb ? blue : red;
      }
    }
  }
  return {std::move(result)};
}

#else

Tensors decode_image_function(const Stage&, const Tensors&) {
  throw Error(Fault::unsupported, "ImageDecoder: this build has no decoder (Leptonica's header was missing)");
}

#endif

}  // namespace axrun::ir
