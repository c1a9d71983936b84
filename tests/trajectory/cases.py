"""Configurations that are trained: name: (task, attention, protocol, settings). Together they take each choice of an optimiser, a
schedule, a norm, a pooling and a position at least once; sizes are those of preset `smoke`.
"""
# Over batch norms, a bias in front of one has no gradient but rounding, which a smaller epsilon would make whole steps of.
LARGE_EPSILON = " optimizer.epsilon=1e-5"
CASES = {
    # What published protocols ask for.
    "fair": ("listops", "transformer", "fair", "train.steps=40"),
    "lra2020_listops": ("listops", "transformer", "lra2020",
        "train.steps=25 schedule.warmup_steps=8 view.max_length_tokens=100 schedule.learning_rate=0.02"),
    "lra2020_retrieval": ("retrieval", "transformer", "lra2020",
        "train.steps=16 train.eval_every_steps=5 schedule.learning_rate=0.02"),
    "lra2020_paper_text": ("text", "transformer", "lra2020_paper", "train.steps=16 train.eval_every_steps=5"),
    "lra2020_picture": ("pictures", "transformer", "fair",
        "train.steps=24 train.eval_every_steps=8 view.pixels=IDS view.zero_is_padding=true model.pooling=CLS "
        "model.mask=OUTER model.cls_mask=AS_FIRST_TOKEN schedule.kind=COSINE_CYCLE schedule.learning_rate=2e-3 "
        "schedule.warmup_steps=4 train.shuffle=WHOLE_BATCHES train.drop_last=true evaluation.drop_last=true "
        "model.dropout=0.3 attention.dropout=0.2 optimizer.weight_decay=0 model.activation=GELU_TANH "
        "optimizer.clip_norm=0 evaluation.selection=LAST optimizer.epsilon=1e-9"),
    "lra2020_picture_mean": ("pictures", "transformer", "fair",
        "train.steps=24 train.eval_every_steps=8 view.pixels=IDS view.zero_is_padding=true model.pooling=MEAN_OF_ALL "
        "model.mask=OUTER model.positions=SINUSOID schedule.kind=COSINE_CYCLE schedule.learning_rate=2e-3 "
        "schedule.warmup_steps=4 train.shuffle=WHOLE_BATCHES train.drop_last=true model.head=LINEAR"),
    "nystrom_text": ("text", "transformer", "nystrom",
        "train.steps=30 train.eval_every_steps=7 view.max_length_tokens=60 schedule.learning_rate=0.003 "
        "schedule.warmup_steps=9 optimizer.weight_decay=0.02"),
    "s4_text": ("text", "transformer", "s4",
        "train.steps=25 train.eval_every_steps=6 view.max_length_tokens=60 schedule.learning_rate=0.004 model.dropout=0.1 "
        "model.layers=2 view.min_code_point_count=1" + LARGE_EPSILON),
    "s4_retrieval": ("retrieval", "transformer", "s4",
        "train.steps=16 train.eval_every_steps=5 model.dropout=0.1" + LARGE_EPSILON),
    "s4_picture": ("pictures", "linear", "fair",
        "train.steps=24 train.eval_every_steps=8 view.pixels=REAL model.positions=SINUSOID_2D model.norm=BATCH "
        "model.norm_placement=AFTER optimizer.decay_scope=ALL_BUT_NORMS_AND_LAYER_BIASES model.attention_bias=true "
        "model.initial_values=PYTORCH model.dropout_mask=ALL_TOKENS evaluation.batch_statistics=PRECISE" + LARGE_EPSILON),
    "strong_listops": ("listops", "transformer", "strong",
        "train.steps=25 train.eval_every_steps=5 model.layers=2 optimizer.average_decay=0.9 "
        "optimizer.layer_rate_decay=0.7 model.pooling=MAX" + LARGE_EPSILON),
    "strong_retrieval": ("retrieval", "transformer", "strong",
        "train.steps=24 train.eval_every_steps=6 train.batch_examples=7 train.last_batch=BY_EXAMPLES" + LARGE_EPSILON),
    "are_rnns": ("near_majority", "linear", "fair",
        "train.steps=40 train.eval_every_steps=8 optimizer.kind=RADAM optimizer.decay_scope=ALL_PARAMETERS "
        "optimizer.beta2=0.999 schedule.kind=STEP schedule.learning_rate=0.003 schedule.warmup_steps=0 "
        "schedule.drop_step=22 schedule.drop_factor=0.1 optimizer.clip_scope=EACH_PARAMETER optimizer.clip_norm=0.1 "
        "model.positions=CONCATENATED model.norm_placement=AFTER model.final_norm=true model.activation=RELU_MLP "
        "model.layers=2 train.last_batch=BY_EXAMPLES"),
    # Other optimisers, schedules, stops, batches.
    "radam_coupled": ("near_majority", "linear", "fair",
        "train.steps=40 train.eval_every_steps=8 optimizer.kind=RADAM optimizer.decay=COUPLED optimizer.weight_decay=0.05 "
        "optimizer.decay_scope=ALL_PARAMETERS optimizer.beta2=0.9 schedule.kind=LINEAR schedule.learning_rate=0.003 "
        "optimizer.clip_value=0.02 optimizer.clip_norm=0.05 model.positions=ALIBI model.norm_placement=AFTER "
        "model.pooling=QUERY train.last_batch=BY_EXAMPLES train.bucket_window_batches=2"),
    "adam_coupled": ("near_majority", "transformer", "fair",
        "train.steps=40 train.eval_every_steps=8 optimizer.decay=COUPLED optimizer.weight_decay=0.1 "
        "schedule.kind=CONSTANT schedule.warmup_steps=5 model.pooling=LAST_TOKEN attention.causal=true "
        "model.positions=ALIBI optimizer.clip_value=0.05 attention.dropout=0.1 train.drop_last=true "
        "evaluation.selection=FIXED_STEP evaluation.step=13"),
    "plateau": ("near_majority", "transformer", "fair",
        "train.steps=60 train.eval_every_steps=3 schedule.kind=PLATEAU schedule.plateau_factor=0.5 "
        "schedule.plateau_patience_evaluations=1 schedule.warmup_steps=3 schedule.learning_rate=0.02 "
        "train.early_stop_evaluations=6 train.batch_examples=8 model.pooling=QUERY model.positions=ROTARY "
        "model.attention_filter_tokens=4 model.stem_tokens=4 optimizer.average_decay=0.99"),
    "fixed_step_and_stop": ("near_majority", "transformer", "fair",
        "train.steps=60 train.eval_every_steps=4 train.early_stop_evaluations=2 evaluation.selection=FIXED_STEP "
        "evaluation.step=33 schedule.kind=INVERSE_SQRT schedule.warmup_steps=0 schedule.learning_rate=0.01 "
        "model.norm_placement=AFTER model.norm=BATCH model.pooling=CLS"),
    "one_cycle_average": ("near_majority", "transformer", "fair",
        "train.steps=17 train.eval_every_steps=1000 schedule.kind=ONE_CYCLE schedule.warmup_fraction=0.3 "
        "optimizer.average_decay=0.999 optimizer.clip_scope=EACH_PARAMETER optimizer.clip_norm=0.01 "
        "optimizer.clip_value=0.001"),
    "no_mask": ("text", "transformer", "fair",
        "train.steps=24 train.eval_every_steps=6 view.max_length_tokens=48 view.pad_to=MAX_LENGTH model.mask=NO_MASK "
        "model.pooling=MEAN_OF_ALL model.positions=NO_POSITIONS model.head_activation=GELU model.stem_tokens=3 "
        "model.attention_filter_tokens=3"),
    "batch_above_split": ("text", "linear", "fair",
        "train.steps=20 train.eval_every_steps=6 view.max_length_tokens=48 model.pooling=SUM_OVER_N "
        "train.batch_examples=100 train.last_batch=BY_EXAMPLES train.drop_last=true optimizer.kind=RADAM "
        "optimizer.beta2=0.98 schedule.kind=ONE_CYCLE schedule.warmup_steps=4 model.pooled_norm=OVER_EXAMPLES "
        "view.pad_to=POWER_OF_TWO" + LARGE_EPSILON),
    "batch_of_one": ("near_majority", "transformer", "fair",
        "train.steps=26 train.eval_every_steps=6 train.batch_examples=12 model.pooled_norm=OVER_EXAMPLES "
        "model.pooling=CLS optimizer.average_decay=0.7" + LARGE_EPSILON),
    "pairs_by_themselves": ("retrieval", "transformer", "fair",
        "train.steps=20 train.eval_every_steps=5 model.norm=BATCH model.joint_pair_statistics=false "
        "evaluation.batch_statistics=PRECISE optimizer.average_decay=0.8 model.pooled_norm=OVER_EXAMPLES "
        "train.batch_examples=4 evaluation.drop_last=true train.validation_examples=22 model.pair_head=CONCATENATION" + LARGE_EPSILON),
    "pairs_running": ("retrieval", "transformer", "fair",
        "train.steps=24 train.eval_every_steps=6 model.norm=BATCH model.joint_pair_statistics=false "
        "model.pair_head=CONCATENATION model.pooling=FIRST optimizer.average_decay=0.5" + LARGE_EPSILON),
    # Guessed tokens.
    "copy": ("copy", "linear", "fair",
        "train.steps=40 train.eval_every_steps=8 train.batch_examples=7 schedule.kind=PLATEAU schedule.plateau_factor=0.3 "
        "schedule.plateau_patience_evaluations=0 schedule.warmup_steps=3 schedule.learning_rate=0.05 "
        "train.last_batch=BY_EXAMPLES"),
    "copy_rotary": ("copy", "transformer", "fair",
        "train.steps=30 train.eval_every_steps=8 train.batch_examples=9 model.norm_placement=AFTER model.positions=ROTARY "
        "model.stem_tokens=3 model.attention_filter_tokens=2 train.early_stop_evaluations=1 optimizer.kind=RADAM"),
    "copy_masked": ("copy", "transformer", "fair",
        "train.steps=30 train.eval_every_steps=8 train.batch_examples=9 view.target=MASKED attention.causal=false "
        "view.masked_fraction=0.3 optimizer.average_decay=0.8 model.norm=BATCH evaluation.batch_statistics=PRECISE" + LARGE_EPSILON),
    "masked_text": ("text", "transformer", "fair",
        "train.steps=30 train.eval_every_steps=6 view.target=MASKED view.masked_fraction=0.2 model.stem_tokens=3"),
    "mixture": ("pictures", "transformer", "fair",
        "train.steps=20 train.eval_every_steps=5 view.target=NEXT attention.causal=true view.pixels=IDS "
        "model.token_head=LOGISTIC_MIXTURE model.mixture_components=4 train.batch_examples=16"),
    # Pretraining, then labels.
    "pretrain_masked": ("near_majority", "transformer", "fair",
        "train.steps=20 train.eval_every_steps=6 pretrain.objective=MASKED pretrain.examples=180 "
        "pretrain.learning_rate=0.004 pretrain.masked_fraction=0.15 pretrain.until=NOTHING model.pooling=CLS "
        "optimizer.average_decay=0.9 optimizer.layer_rate_decay=0.8 schedule.warmup_steps=3"),
    "pretrain_pairs": ("retrieval", "linear", "strong",
        "train.steps=15 train.eval_every_steps=6 pretrain.objective=CAUSAL attention.causal=true pretrain.examples=100 "
        "pretrain.learning_rate=0.004 pretrain.until=NOTHING train.last_batch=BY_EXAMPLES schedule.kind=INVERSE_SQRT "
        "schedule.warmup_steps=5 model.norm=BATCH" + LARGE_EPSILON),
    "pretrain_one_cycle": ("text", "linear", "fair",
        "train.steps=12 train.eval_every_steps=6 pretrain.objective=MASKED pretrain.examples=180 "
        "pretrain.learning_rate=0.004 pretrain.masked_fraction=0.3 pretrain.until=NOTHING schedule.kind=ONE_CYCLE "
        "schedule.warmup_steps=4 pretrain.warmup_fraction=0.4"),
    "pretrain_continued": ("text", "linear", "fair",
        "train.steps=8 train.eval_every_steps=6 pretrain.objective=CAUSAL pretrain.continued_from_examples=60,100 "
        "pretrain.examples=180 pretrain.learning_rate=0.004 pretrain.until=NOTHING pretrain.warmup_fraction=0.2"),
}
