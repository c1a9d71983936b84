// Operations on sixteen bytes at once, in the vector notation of GCC and Clang. Every 64-bit
// machine has instructions for them, but compilers do not vectorise plain loops over bytes that may
// overlap.
#ifndef LRA_TASKS_PATHFINDER_CHUNK_H_
#define LRA_TASKS_PATHFINDER_CHUNK_H_

#include <cstdint>
#include <cstring>

namespace lra::pathfinder {

constexpr int kChunkBytes = 16;
using Chunk __attribute__((vector_size(kChunkBytes))) = uint8_t;

inline Chunk LoadChunk(const uint8_t* from) {
  Chunk chunk;
  std::memcpy(&chunk, from, kChunkBytes);
  return chunk;
}

inline void StoreChunk(Chunk chunk, uint8_t* to) { std::memcpy(to, &chunk, kChunkBytes); }

inline Chunk Maximum(Chunk a, Chunk b) { return a > b ? a : b; }

inline bool AnyBit(Chunk chunk) {
  uint64_t words[2];
  std::memcpy(words, &chunk, kChunkBytes);
  return (words[0] | words[1]) != 0;
}

}  // namespace lra::pathfinder

#endif  // LRA_TASKS_PATHFINDER_CHUNK_H_
