// What pretraining reached, beside the entropies of the data, in words.
#ifndef LRA_EVAL_PRETRAIN_TEXT_H_
#define LRA_EVAL_PRETRAIN_TEXT_H_

#include <string>

#include "eval/run_record.pb.h"
#include "lra/config.pb.h"

namespace lra {

// "4.510 bits (3.126 nats) a token".
std::string DescribeNats(double nats);

// " (unigram 4.51, bigram 3.61)", in bits a token; empty where the entropies are not known.
std::string DescribeReference(const PretrainResult& result);

// "unigram 4.510 bits (3.126 nats) a token, bigram 3.612 bits (2.504 nats) a token".
std::string DescribeEntropies(const PretrainResult& result);

// The entropy that the loss on validation must be below, in nats a token; infinity for NOTHING.
double GoalNats(PretrainConfig::Until until, const PretrainResult& result);

}  // namespace lra

#endif  // LRA_EVAL_PRETRAIN_TEXT_H_
