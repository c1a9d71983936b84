// What the files of a checkpoint's folder are called (run_folder/checkpoint.h).
#ifndef LRA_RUN_FOLDER_CHECKPOINT_FILES_H_
#define LRA_RUN_FOLDER_CHECKPOINT_FILES_H_

namespace lra {

inline constexpr char kCheckpointFolder[] = "checkpoint";  // of a run or stage: step-N, latest
inline constexpr char kWeightsFile[] = "weights.safetensors";
inline constexpr char kOptimizerFile[] = "optimizer.safetensors";
inline constexpr char kStateFile[] = "state.textproto";  // sealed; has the digests of both
// Names the SHA-256 of the tensors in the metadata of a weights file.
inline constexpr char kTensorsKey[] = "lra.tensors_sha256";

}  // namespace lra

#endif  // LRA_RUN_FOLDER_CHECKPOINT_FILES_H_
