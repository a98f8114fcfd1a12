#include "config/synonyms.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <vector>

#include "core/format.h"
#include "core/text.h"

namespace dptrain::config {
namespace {

constexpr std::string_view kOptimizerHasRate =
    "the learning rate is an argument of the optimizer: train.optimizer.learning_rate";
constexpr std::string_view kSchedule =
    "a schedule is the value of learning_rate, as in optimizer: {Adam: {learning_rate: {CosineDecay: ...}}}";
constexpr std::string_view kDevice = "a flag chooses devices: --gpus 0 or --cpus 2";
constexpr std::string_view kStepAbove = "leave it out: the size of the step above determines it";
constexpr std::string_view kFirstStep = "the model begins with a step of its own, Input: {shape: [height, width, 3]}";
constexpr std::string_view kNotNeeded = "leave it out: dptrain does this by itself";
constexpr std::string_view kQuiet = "a flag of the command sets it: --quiet or --verbose";
constexpr std::string_view kInTrain = "it is a key of the section 'train'";
constexpr std::string_view kBatchSize = "it is a key of the section 'train': train.batch_size";

/// The table. A row has several words, separated by spaces, that share a context and an answer.
constexpr auto kRows = std::to_array<Synonym>({
    // Layers
    {"Linear FullyConnected", "layer", "Dense"},
    {"BatchNorm BatchNorm#d", "layer", "BatchNormalization"},
    {"LayerNorm", "layer", "LayerNormalization"},
    {"GroupNorm", "layer", "GroupNormalization"},
    {"InstanceNorm#d", "layer", "write GroupNormalization: {groups: -1}"},
    {"AvgPool#d", "layer", "AveragePooling#D"},
    {"AdaptiveAvgPool#d", "layer", "write GlobalAveragePooling#D, for an output of size 1"},
    {"GlobalAvgPool#d GlobalAvgPooling#d", "layer", "GlobalAveragePooling#D"},
    {"AdaptiveMaxPool#d", "layer", "write GlobalMaxPooling#D, for an output of size 1"},
    {"GlobalMaxPool#d", "layer", "GlobalMaxPooling#D"},
    {"ConvTranspose#d", "layer", "Conv#DTranspose"},
    {"Convolution#d", "layer", "Conv#D"},
    {"Upsample", "layer", "UpSampling2D"},
    {"ZeroPad#d", "layer", "ZeroPadding#D"},
    {"Dropout#d", "layer", "SpatialDropout#D"},
    {"InputLayer", "layer", "Input"},
    {"Sequential", "layer", "list the steps under model.layers: a list is a chain"},
    {"Functional", "layer", "list the steps under model.layers, and name what a step reads with 'inputs'"},
    {"Lambda", "layer", "no layer runs code of the config; docs/reference/layers.md lists the layers"},
    {"Sigmoid", "layer", "write Activation: sigmoid, or activation: sigmoid in the step above"},
    {"Tanh", "layer", "write Activation: tanh, or activation: tanh in the step above"},
    {"GELU", "layer", "write Activation: gelu, or activation: gelu in the step above"},
    {"SiLU", "layer", "write Activation: silu, or activation: silu in the step above"},
    {"LSTMCell", "layer", "write LSTM, a layer over all steps"},
    {"GRUCell", "layer", "write GRU, a layer over all steps"},
    {"RNN", "layer", "write SimpleRNN, LSTM or GRU"},
    {"Cat", "layer", "Concatenate"},
    {"View", "layer", "Reshape"},
    {"PositionalEncoding", "layer", "write PositionEmbedding"},
    {"TransformerEncoder TransformerEncoderLayer", "layer", "write Transformer"},
    {"RandomFlip RandomRotation RandomZoom RandomCrop RandomTranslation RandomContrast RandomBrightness CenterCrop",
     "layer", "it is a transform, and belongs under data.transforms"},
    {"TextVectorization StringLookup CategoryEncoding Discretization", "layer",
     "it belongs to the data set: CSV encodes columns, Text encodes texts"},

    // Arguments of layers
    {"out_channels num_filters n_filters", ".filters", "filters"},
    {"in_channels", ".filters", kStepAbove},
    {"kernel", ".kernel_size", "kernel_size"},
    {"stride subsample", ".strides", "strides"},
    {"dilation", ".dilation_rate", "dilation_rate"},
    {"kernel_size", ".pool_size", "pool_size"},
    {"out_features hidden_size hidden_dim output_dim", ".units", "units"},
    {"in_features input_size", ".units", kStepAbove},
    {"bias", ".use_bias", "use_bias"},
    {"num_features", "BatchNormalization", kStepAbove},
    {"affine", "BatchNormalization", "write center and scale"},
    {"track_running_stats", "BatchNormalization", kNotNeeded},
    {"normalized_shape", "LayerNormalization", "write axis, the list of the last axes; the default is the last one"},
    {"num_groups", ".groups", "groups"},
    {"eps", ".epsilon", "epsilon"},
    {"p prob drop_rate dropout_rate", ".rate", "rate"},
    {"num_embeddings vocab_size", ".input_dim", "input_dim"},
    {"embedding_dim", ".output_dim", "output_dim"},
    {"embed_dim", ".key_dim", "write key_dim, the size of one head"},
    {"nhead", ".num_heads", "num_heads"},
    {"num_layers", ".return_sequences", "write a step for each layer, or 'repeat' with return_sequences: true"},
    {"batch_first", ".return_sequences", "leave it out: the batch is always the first axis"},
    {"bidirectional", ".return_sequences", "write Bidirectional: {LSTM: {...}}"},
    {"scale_factor upscale_factor", ".size", "size"},
    {"nonlinearity act_fn", ".activation", "activation"},
    {"weight_decay", ".kernel_regularizer", "write kernel_regularizer: {L2: 0.01}, or weight_decay in the optimizer"},
    {"l2", ".kernel_regularizer", "write kernel_regularizer: {L2: 0.01}"},
    {"input_shape", "Input", "shape"},
    {"batch_shape", "Input", "write shape, without the batch"},
    {"batch_size", "Input", "leave it out: train.batch_size is the batch of the model"},
    {"input_shape batch_input_shape input_dim", ".inputs", kFirstStep},
    {"data_format", ".inputs", "leave it out: channels always come last"},
    {"dtype", ".inputs", "one key sets it for the whole model: train.dtype_policy"},
    {"inplace", ".inputs", kNotNeeded},
    {"weights encoder_weights", ".inputs", "weights are named under model.weights"},

    // Optimizers, their arguments, schedules
    {"Momentum", "optimizer", "write SGD: {momentum: 0.9}"},
    {"FusedAdam", "optimizer", "Adam"},
    {"RAdam", "optimizer", "write Adam with learning_rate: {Warmup: ...}"},
    {"lr eta", ".learning_rate", "learning_rate"},
    {"lr", ".initial_learning_rate", "initial_learning_rate"},
    {"betas", ".beta_1", "write beta_1 and beta_2"},
    {"momentum", ".beta_1", "write beta_1, the momentum of this optimizer"},
    {"alpha", "RMSprop", "rho"},
    {"dampening", "SGD", "leave it out: dptrain computes without"},
    {"l2", ".weight_decay", "weight_decay"},
    {"decay", ".weight_decay", "write learning_rate: {InverseTimeDecay: ...}"},
    {"max_grad_norm", ".clipnorm", "write global_clipnorm"},
    {"lr_scheduler", ".learning_rate", kSchedule},
    {"T_max step_size", ".decay_steps", "decay_steps"},
    {"gamma", ".decay_rate", "decay_rate"},
    {"eta_min", ".alpha", "write alpha, the last rate as a share of the first"},
    {"num_warmup_steps", ".warmup_steps", "warmup_steps"},
    {"StepLR", "learning-rate schedule", "write ExponentialDecay with staircase: true"},
    {"ExponentialLR", "learning-rate schedule", "ExponentialDecay"},
    {"MultiStepLR", "learning-rate schedule", "PiecewiseConstantDecay"},
    {"CosineAnnealingLR", "learning-rate schedule", "CosineDecay"},
    {"CosineAnnealingWarmRestarts", "learning-rate schedule", "CosineDecayRestarts"},
    {"PolynomialLR LinearLR", "learning-rate schedule", "PolynomialDecay"},
    {"OneCycleLR", "learning-rate schedule", "write Warmup: {warmup_steps: ..., then: {CosineDecay: ...}}"},
    {"LinearWarmup", "learning-rate schedule", "write Warmup"},
    {"ReduceLROnPlateau", "learning-rate schedule", "it is a callback: callbacks: [ReduceLROnPlateau]"},

    // Losses and metrics
    {"CrossEntropyLoss CrossEntropy cross_entropy softmax_cross_entropy log_loss", "loss",
     "write categorical_crossentropy after a softmax, or {CategoricalCrossentropy: {from_logits: true}}"},
    {"NLLLoss nll", "loss", "write categorical_crossentropy after a softmax"},
    {"BCELoss", "loss", "binary_crossentropy"},
    {"BCEWithLogitsLoss bce_with_logits", "loss", "write {BinaryCrossentropy: {from_logits: true}}"},
    {"MSELoss L2Loss squared_error", "loss", "mean_squared_error"},
    {"rmse", "loss", "write mean_squared_error, which has the same minimum"},
    {"L1Loss absolute_error", "loss", "mean_absolute_error"},
    {"SmoothL1Loss HuberLoss", "loss", "huber"},
    {"KLDivLoss", "loss", "kl_divergence"},
    {"CosineEmbeddingLoss", "loss", "cosine_similarity"},
    {"PoissonNLLLoss", "loss", "poisson"},
    {"FocalLoss", "loss", "write categorical_focal_crossentropy or binary_focal_crossentropy"},
    {"DiceLoss", "loss", "dice"},
    {"logits", ".from_logits", "from_logits"},
    {"pos_weight weight", ".from_logits", "write train.class_weight: {class: weight, ...} or balanced"},
    {"reduction", ".from_logits", "leave it out: the loss is the mean over the samples"},
    {"ignore_index", ".ignore_class", "ignore_class"},
    {"f1", "metric", "f1_score"},
    {"top# top_# top#_accuracy", "metric", "write {TopKCategoricalAccuracy: {k: #}}"},
    {"accuracy_score", "metric", "accuracy"},
    {"AUROC roc_auc", "metric", "auc"},
    {"average_precision pr_auc", "metric", "write {AUC: {curve: PR}}"},
    {"rmse", "metric", "root_mean_squared_error"},
    {"r2", "metric", "r2_score"},
    {"IoU mIoU JaccardIndex", "metric", "write {MeanIoU: {num_classes: 2}}, with the number of classes"},
    {"sensitivity", "metric", "recall"},
    {"loss", "metric", "leave it out: the loss is always in the log"},
    {"lr", "metric", "leave it out: the learning rate is always in train.csv"},
    {"confusion_matrix", "metric", "dptrain eval writes it"},

    // Callbacks
    {"LearningRateMonitor", "callback", "leave it out: train.csv has the learning rate"},
    {"ProgbarLogger TQDMProgressBar RichProgressBar", "callback", kNotNeeded},
    {"BackupAndRestore", "callback", "leave it out: 'dptrain resume RUN' continues from checkpoints/last.h5"},
    {"Timer", "callback", "write train.max_time"},
    {"WandbLogger", "callback", "write TensorBoard or CSVLogger"},
    {"StochasticWeightAveraging", "callback", "write use_ema: true in the optimizer"},
    {"GradientAccumulationScheduler", "callback", "write train.accumulate_steps"},
    {"StepLR CosineAnnealingLR", "callback", kSchedule},
    {"every_n_epochs", "ModelCheckpoint", "write save_freq: N epochs"},
    {"save_top_k", "ModelCheckpoint", "write max_to_keep"},
    {"dirpath", "ModelCheckpoint", "write filepath, the name of the file in the run's checkpoints/"},
    {"filename", "ModelCheckpoint", "filepath"},
    {"verbose", ".monitor", kQuiet},

    // Transforms and data sets
    {"ToTensor", "transform", "leave it out, or write Rescaling: {scale: 1/255}"},
    {"Normalize", "transform", "write Normalization: {mean: ..., variance: ...}, with the squares of the deviations"},
    {"StandardScaler", "transform", "Normalization"},
    {"MinMaxScaler Rescale", "transform", "Rescaling"},
    {"Resize", "transform", "Resizing"},
    {"RandomHorizontalFlip", "transform", "write RandomFlip: horizontal"},
    {"RandomVerticalFlip", "transform", "write RandomFlip: vertical"},
    {"RandomAffine", "transform", "write RandomRotation, RandomTranslation, RandomZoom and RandomShear"},
    {"ColorJitter", "transform", "write RandomBrightness, RandomContrast, RandomSaturation and RandomHue"},
    {"AutoAugment TrivialAugmentWide", "transform", "write RandAugment, a similar method"},
    {"Grayscale", "transform", "write color_mode: grayscale in the data set"},
    {"Cutout", "transform", "RandomErasing"},
    {"Compose", "transform", "list the transforms under data.transforms"},
    {"std", ".variance", "write variance: the square of std"},
    {"degrees", "RandomRotation", "write factor, a share of the full turn: 10 degrees are 10/360"},
    {"size", "Resizing", "write height and width"},
    {"size", "RandomCrop", "write height and width"},
    {"MNIST FashionMNIST", "data set", "write IDX: {inputs: FILE, labels: FILE}; datasets/README.md has the files"},
    {"ImageDataGenerator image_dataset_from_directory", "data set", "write ImageFolder"},
    {"text_dataset_from_directory", "data set", "write Text"},
    {"DataLoader", "data set", "name the data set itself; data.loader has the settings of the loader"},
    {"TensorDataset npz", "data set", "write Numpy"},
    {"DataFrame", "data set", "write CSV"},
    {"train_test_split", "data set", "write validation: {Split: 0.2}"},

    // Keys of sections
    {"lr learning_rate", "train", kOptimizerHasRate},
    {"lr_scheduler scheduler", "train", kSchedule},
    {"max_epochs n_epochs num_epochs nb_epoch", "train", "epochs"},
    {"max_steps", "train", "steps"},
    {"steps_per_epoch", "train", "leave it out: an epoch is all samples; 'steps' counts updates in place of epochs"},
    {"batch", "train", "batch_size"},
    {"validation_split", "train", "write data: {validation: {Split: 0.2}}"},
    {"validation_data", "train", "the data sets are under data: data.validation"},
    {"validation_freq check_val_every_n_epoch", "train", "write validate_every: N epochs"},
    {"val_check_interval", "train", "write validate_every: N steps"},
    {"shuffle", "train", "write data.loader.shuffle: full or none"},
    {"num_workers", "train", "write data.loader.workers"},
    {"pin_memory", "train", kNotNeeded},
    {"verbose", "train", kQuiet},
    {"callbacks", "train", "callbacks is a key of the top level: move it out of 'train'"},
    {"early_stopping patience", "train", "write it at the top level: callbacks: [{EarlyStopping: {patience: 3}}]"},
    {"checkpoint", "train", "write it at the top level: callbacks: [ModelCheckpoint]"},
    {"class_weights", "train", "class_weight"},
    {"pos_weight", "train", "write class_weight: {class: weight, ...} or balanced"},
    {"sample_weight", "train", "it is an argument of the data set, as in CSV: {sample_weight: COLUMN}"},
    {"criterion objective", "train", "loss"},
    {"random_state seed", "train", "the seed is a key of the top level: seed: 1"},
    {"device devices gpus accelerator strategy", "train", kDevice},
    {"precision", "train", "write dtype_policy: mixed_bfloat16 or float32"},
    {"amp mixed_precision", "train", "write dtype_policy: mixed_bfloat16 or mixed_float16"},
    {"gradient_clip_val max_grad_norm", "train",
     "write global_clipnorm in the optimizer, as in Adam: {global_clipnorm: 1}"},
    {"clipnorm", "train", "it is an argument of the optimizer, as in Adam: {clipnorm: 1}"},
    {"weight_decay", "train", "it is an argument of the optimizer, as in AdamW: {weight_decay: 0.01}"},
    {"momentum", "train", "it is an argument of the optimizer, as in SGD: {momentum: 0.9}"},
    {"accumulate_grad_batches gradient_accumulation_steps", "train", "write accumulate_steps"},
    {"log_every_n_steps", "train", "write log_every: N steps"},
    {"output_dir", "train", "write run_dir at the top level"},
    {"deterministic", "train", "it is a key of the section 'runtime'"},
    {"optimizer loss metrics epochs", "config", kInTrain},
    {"batch_size", "config", kBatchSize},
    {"lr learning_rate", "config", kOptimizerHasRate},
    {"layers", "config", "it is a key of the section 'model'"},
    {"transforms validation loader", "config", "it is a key of the section 'data'"},
    {"random_state", "config", "write seed"},
    {"trainer", "config", "write train"},
    {"dataset", "config", "write data"},
    {"version", "config", "write dptrain: 1, the version of the language"},
    {"batch_size", "data", kBatchSize},
    {"validation_split", "data", "write validation: {Split: 0.2}"},
    {"validation_data", "data", "write validation"},
    {"augmentation preprocessing", "data", "write transforms"},
    {"shuffle", "data", "write loader: {shuffle: full}"},
    {"num_workers", "data", "write loader: {workers: 4}"},
    {"num_workers", "loader", "write workers"},
    {"prefetch_factor", "loader", "write prefetch"},
    {"pin_memory", "loader", kNotNeeded},
    {"drop_last", "loader", "leave it out: every sample of an epoch is used"},
    {"batch_size", "loader", kBatchSize},
    {"device gpus", "runtime", kDevice},
    {"num_threads", "runtime", "a flag sets the threads of each replica: --cpus 2x8"},
    {"precision", "runtime", "write train.dtype_policy: mixed_bfloat16 or float32"},
    {"input_shape", "model", kFirstStep},
    {"optimizer loss", "model", kInTrain},
    {"pretrained", "model", "write weights: FILE.h5"},

    // Values
    {"1", "=padding", "write same to keep the size, or a step ZeroPadding2D: 1 above"},
    {"0", "=padding", "write valid"},
    {"none identity", "=activation", "linear"},
    {"fp16 float16 16-mixed", "=dtype_policy", "mixed_float16"},
    {"bf16 bfloat16 bf16-mixed", "=dtype_policy", "mixed_bfloat16"},

    // Commands and flags
    {"train run", "command", "fit"},
    {"test evaluate validate", "command", "eval"},
    {"infer inference", "command", "predict"},
    {"time benchmark", "command", "bench"},
    {"device_query", "command", "devices"},
    {"visualize", "command", "plot"},
    {"init_config", "command", "init"},
    {"render_config", "command", "config"},
    {"lint", "command", "check"},
    {"tune", "command", "sweep"},
    {"--lr", ".--learning-rate", "--learning-rate"},
    {"--lr --learning-rate", ".--set", "write --set train.optimizer.learning_rate=1e-3"},
    {"--max-epochs --num-epochs", ".--epochs", "--epochs"},
    {"--max-steps", ".--steps", "--steps"},
    {"--batch", ".--batch-size", "--batch-size"},
    {"--device", ".--gpus", "write --gpus 0 or --cpus 2"},
    {"--output-dir", ".--run-dir", "--run-dir"},
    {"--num-workers", ".--set", "write --set data.loader.workers=4"},
});

char lower(char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); }
bool is_plain_digit(char c) { return c >= '0' && c <= '9'; }

/// Compares without case. Sets `digit` to the digit in the place of '#', or to '\0' if the pattern has none.
bool matches(std::string_view pattern, std::string_view word, char& digit) {
  digit = '\0';
  return std::ranges::equal(pattern, word, [&](char p, char w) {
    if (p == '#' && is_plain_digit(w)) return digit = w, true;
    return lower(p) == lower(w);
  });
}

/// 'relu' for 'tf.nn.relu' and 'ReLU' for 'nn.ReLU()'; a word without a dot is unchanged.
std::string_view without_module(std::string_view word) {
  if (word.ends_with("()")) word.remove_suffix(2);
  const std::size_t dot = word.rfind('.');
  const bool is_name = dot != std::string_view::npos && dot + 1 < word.size() && !is_plain_digit(word[dot + 1]);
  return is_name ? word.substr(dot + 1) : word;
}

std::string answer_text(const Synonym& synonym, std::string_view word) {
  char digit = '\0';
  matches(synonym.word, word, digit);
  std::string answer(synonym.answer);
  std::ranges::replace(answer, '#', digit);
  if (answer.find(' ') != std::string::npos) return "; " + answer;
  const bool of_command_line = synonym.context == "command" || word.starts_with('-');
  return of_command_line ? fmt::format("; did you mean '{}'?", answer)
                         : fmt::format("; Keras and dptrain call it '{}'", answer);
}

}  // namespace

std::span<const Synonym> synonyms() {
  static const std::vector<Synonym> all = [] {
    std::vector<Synonym> words;
    for (const Synonym& row : kRows)
      for (std::size_t begin = 0, end = 0; end < row.word.size(); begin = end + 1) {
        end = std::min(row.word.find(' ', begin), row.word.size());
        words.push_back({row.word.substr(begin, end - begin), row.context, row.answer});
      }
    return words;
  }();
  return all;
}

const Synonym* find_synonym(std::string_view word, std::string_view context, std::span<const std::string> allowed) {
  const auto fits_in = [&](const Synonym& row) {
    if (row.context == context) return true;
    return row.context.starts_with('.') && std::ranges::find(allowed, row.context.substr(1)) != allowed.end();
  };
  char digit = '\0';
  for (const Synonym& row : synonyms())
    if (fits_in(row) && matches(row.word, word, digit)) return &row;
  return nullptr;
}

std::string hint_for(std::string_view word, std::string_view context, std::span<const std::string> allowed) {
  const std::string_view bare = without_module(word);
  if (const Synonym* row = find_synonym(bare, context, allowed)) return answer_text(*row, bare);
  if (bare != word && std::ranges::find(allowed, bare) != allowed.end()) return fmt::format("; write '{}'", bare);
  return did_you_mean(bare, allowed);
}

std::string call_as_mapping(std::string_view call, const std::string& type) {
  const std::size_t open = call.find('(');
  const std::string arguments = trim(call.substr(open + 1, call.size() - open - 2));
  if (arguments.empty() || arguments.find('(') != std::string::npos) return "";
  std::string keys;
  for (const std::string& part : split(arguments, ',')) {
    const std::size_t equals = part.find('=');
    if (equals == std::string::npos) return fmt::format("{{{}: {}}}", type, arguments);
    keys +=
        fmt::format("{}{}: {}", keys.empty() ? "" : ", ", trim(part.substr(0, equals)), trim(part.substr(equals + 1)));
  }
  return fmt::format("{{{}: {{{}}}}}", type, keys);
}

std::string tuple_as_list(std::string_view text) {
  const auto is_number = [](const std::string& part) {
    return !part.empty() && (part.size() == 1 || part.front() != '0') && std::ranges::all_of(part, is_plain_digit);
  };
  const bool tuple = text.size() > 2 && text.front() == '(' && text.back() == ')';
  std::vector<std::string> parts = split(tuple ? text.substr(1, text.size() - 2) : text, tuple ? ',' : 'x');
  for (std::string& part : parts) part = trim(part);
  if (tuple && parts.size() > 1 && parts.back().empty()) parts.pop_back();  // (28,)
  const bool list = parts.size() > 1 || (tuple && text.find(',') != std::string_view::npos);
  return list && std::ranges::all_of(parts, is_number) ? fmt::format("[{}]", join(parts, ", ")) : "";
}

}  // namespace dptrain::config
