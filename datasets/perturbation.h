// Changes of a batch's inputs that destroy one kind of structure and keep the rest: how much a
// score falls under them says what a model makes use of. `lra profile --perturb`.
#ifndef LRA_DATASETS_PERTURBATION_H_
#define LRA_DATASETS_PERTURBATION_H_

#include <cstdint>
#include <string>
#include <vector>

#include "datasets/host_batch.h"
#include "lra/task_spec.pb.h"

namespace lra {

struct Perturbation {
  enum Kind {
    kNone,
    // The text is cut into blocks of `size` tokens, the last may be shorter, and the blocks change
    // places: what stands close together stays so, the rest of the order is lost.
    kBlocks,
    // The text is cut likewise, and the tokens within each block change places: order is kept from
    // block to block, and lost within.
    kWindows,
    // The image is cut into squares of size * size pixels, which change places.
    kPatches,
  };
  Kind kind = kNone;
  int64_t size = 0;
};

// "as they are", "blocks of 16 shuffled", "shuffled within 16", "patches of 4 x 4 shuffled".
std::string Name(const Perturbation& perturbation);

// What suits inputs of this kind, as the view shows them; kNone comes first. Texts: blocks of 1
// (all order is lost), 4, 16, 64 and 256 tokens, and windows of 4, 16, 64 and 256. Images: patches
// of 1, 2, 4, 8, ... pixels, down to four of them. Empty for token ids such as those of
// expressions, which mean nothing when they change places.
std::vector<Perturbation> PerturbationsFor(const TaskSpec& seen);

// Applies it to every example, each text of a pair by itself. The draws are a function of (seed,
// example id, column), so that neither batches nor their order change them. Padding stays where it
// is, and so do the last `fixed_tokens` of every text: the end mark of a view that has one. An
// image must have the side of seen.image_side_pixels, divisible by the size.
void Perturb(const Perturbation& perturbation, const TaskSpec& seen, uint32_t seed,
             int64_t fixed_tokens, HostBatch* batch);

}  // namespace lra

#endif  // LRA_DATASETS_PERTURBATION_H_
