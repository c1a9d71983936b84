// What jemalloc reads as the program starts. A training step frees and asks for the same large
// blocks again, and pages that come back from the system cost more than the step's arithmetic on
// them: so freed memory is never given up (muzzy_decay_ms). Ten seconds after its last use it is
// marked as such that the system may take when it runs short, and free neighbours may become one
// block (dirty_decay_ms): batches of ever other lengths would split memory into pieces that fit
// none. Large blocks share the arenas with all others (oversize_threshold), because in one of their
// own they are given back at once.
extern "C" {
extern const char* malloc_conf;
const char* malloc_conf = "oversize_threshold:0,dirty_decay_ms:10000,muzzy_decay_ms:-1";
}
