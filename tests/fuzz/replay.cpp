// Drives a fuzz target without libFuzzer: every file of the corpus as it is, then mutations of them. The same
// seed gives the same mutations; a failing one is written to the working folder before it is tried, and
// removed after.
//   fuzz_TARGET CORPUS_FOLDER [EXECUTIONS] [SEED]
#include <sys/resource.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

using Bytes = std::vector<uint8_t>;

std::vector<Bytes> read_corpus(const std::string& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  std::vector<Bytes> corpus;
  for (const auto& file : files) {
    std::ifstream stream(file, std::ios::binary);
    corpus.emplace_back(std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>());
  }
  return corpus;
}

/// One to four small changes: bits, bytes, lengths, pieces of another file.
Bytes mutate(const std::vector<Bytes>& corpus, std::mt19937_64& random) {
  const auto below = [&](size_t n) { return n == 0 ? size_t{0} : static_cast<size_t>(random() % n); };
  static constexpr uint8_t interesting[] = {0, 1, 2, 0x7f, 0x80, 0xff, 0x0a, 0x12, 0x22};
  Bytes bytes = corpus[below(corpus.size())];
  for (size_t changes = 1 + below(4); changes > 0 && !bytes.empty(); --changes) {
    const size_t at = below(bytes.size());
    switch (below(7)) {
      case 0:
        bytes[at] ^= static_cast<uint8_t>(1u << below(8));
        break;
      case 1:
        bytes[at] = static_cast<uint8_t>(random());
        break;
      case 2:
        bytes[at] = interesting[below(std::size(interesting))];
        break;
      case 3:
        bytes.resize(at);
        break;
      case 4:
        bytes.erase(bytes.begin() + static_cast<std::ptrdiff_t>(at),
                    bytes.begin() + static_cast<std::ptrdiff_t>(std::min(bytes.size(), at + 1 + below(16))));
        break;
      case 5:
        bytes.insert(bytes.begin() + static_cast<std::ptrdiff_t>(at), 1 + below(8),
                     interesting[below(std::size(interesting))]);
        break;
      default: {
        const Bytes& other = corpus[below(corpus.size())];
        const size_t from = below(other.size());
        const size_t count = std::min(other.size() - from, 1 + below(64));
        bytes.insert(bytes.begin() + static_cast<std::ptrdiff_t>(at),
                     other.begin() + static_cast<std::ptrdiff_t>(from),
                     other.begin() + static_cast<std::ptrdiff_t>(from + count));
      }
    }
  }
  return bytes;
}

/// Kept on disk while it is tried: what crashes the process stays there.
void try_one(const Bytes& bytes, const std::string& keep) {
  if (FILE* file = std::fopen(keep.c_str(), "wb")) {
    std::fwrite(bytes.data(), 1, bytes.size(), file);
    std::fclose(file);
  }
  LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: %s CORPUS_FOLDER [EXECUTIONS] [SEED]\n", argv[0]);
    return 1;
  }
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  // A size that a mutation made up must fail to be allocated, not fill the machine.
  const rlimit limit{rlim_t{3} << 30, rlim_t{3} << 30};
  setrlimit(RLIMIT_AS, &limit);
#endif
  const std::vector<Bytes> corpus = read_corpus(argv[1]);
  if (corpus.empty()) {
    std::fprintf(stderr, "no files in %s\n", argv[1]);
    return 1;
  }
  const long executions = argc > 2 ? std::atol(argv[2]) : 2000;
  const uint64_t seed = argc > 3 ? std::strtoull(argv[3], nullptr, 10) : std::random_device()();
  std::printf("%zu files, %ld mutations, seed %llu\n", corpus.size(), executions,
              static_cast<unsigned long long>(seed));
  std::fflush(stdout);
  const std::string keep =
      std::filesystem::path(argv[0]).filename().string() + "_" + std::to_string(seed) + ".bin";
  for (const Bytes& bytes : corpus) try_one(bytes, keep);
  std::mt19937_64 random(seed);
  for (long i = 0; i < executions; ++i) try_one(mutate(corpus, random), keep);
  std::filesystem::remove(keep);
  std::printf("no finding\n");
  return 0;
}
