#include "experiment/key_descriptions.h"

#include <map>
#include <string>
#include <string_view>

namespace dptrain::experiment {
namespace {

using config::Node;

/// By "<Type>.<key>" where a type means something of its own, else by "<key>".
const std::map<std::string_view, std::string_view>& descriptions() {
  static const std::map<std::string_view, std::string_view> all{
      // The file.
      {"dptrain", "Version of the config language: 1."},
      {"name", "Of the experiment, and of the folder of its runs; of a metric: its name in logs."},
      {"arguments.name", "Of the layer, for `inputs`, messages and checkpoints; default: from its type."},
      {"seed", "Of weights, order and random transforms."},
      {"run_dir", "The folder that runs/<name>/NNN are made in."},
      {"vars", "Defaults of $NAME variables; --var and the environment go before them."},
      {"model", "The network."},
      {"data", "Data sets, their transforms and the loader."},
      {"train",
       "The training: length, batch, optimizer, loss. In data: the training set; in transforms: those of training."},
      {"parallel", "How replicas share the work."},
      {"runtime", "What changes speed and memory, not the meaning of the config."},
      {"callbacks", "Called in this order at the ends of steps and epochs."},
      // The model.
      {"layers", "Steps in order; each reads the one before it unless `inputs` names others."},
      {"blocks", "New layer types; every use makes new weights."},
      {"params", "Names of the block's parameters with defaults, or `required`."},
      {"shared", "Layers or chains with one set of weights; every use has the same."},
      {"outputs", "Steps whose outputs are the model's; default: the last."},
      {"freeze", "Patterns of layers whose weights stay as they are, or {up_to: name}."},
      {"up_to", "This step and all before it."},
      {"weights", "Where the weights of a fresh start come from; of a network: its published ones or a file."},
      {"from_keras", "A Keras .h5 or .keras file in place of `layers`."},
      {"file", "Path of the file, relative to the config's folder."},
      {"input_shape", "[height, width, channels], where the file leaves the shape open."},
      {"match", "Patterns of the layers to load."},
      {"expect", "How many layers must be found."},
      {"ignore", "Patterns of layers to pass over."},
      {"rename", "Names in the file for names in the model."},
      {"skip_mismatch", "Pass over weights of another shape instead of ending with an error."},
      {"inputs", "Names of the steps that this one reads."},
      {"device", "Where the step runs; default: as all others."},
      {"repeat", "So many steps in a chain, with weights of their own."},
      {"trainable", "false: the weights stay as they are."},
      {"if", "Leave the step out where this is false."},
      // Layers.
      {"shape", "Extents of one sample, without the batch: [height, width, channels]."},
      {"units", "Number of outputs."},
      {"filters", "Number of output channels."},
      {"input_dim", "How many ids there are: all are below it."},
      {"output_dim", "Numbers that an id becomes."},
      {"embeddings_initializer", "Of the table of embeddings."},
      {"embeddings_regularizer", "Penalty on the table of embeddings, added to the loss."},
      {"mask_value", "Steps of nothing but this value are masked."},
      {"recurrent_activation", "Of the gates."},
      {"recurrent_initializer", "Of the kernel that multiplies the state."},
      {"recurrent_regularizer", "Penalty on the kernel that multiplies the state, added to the loss."},
      {"unit_forget_bias", "The forget gate's bias begins with ones."},
      {"LSTM.dropout", "Rate at which inputs are dropped, with one mask for all steps of a sample."},
      {"GRU.dropout", "Rate at which inputs are dropped, with one mask for all steps of a sample."},
      {"reset_after", "The reset gate comes behind the product of the state, not before it."},
      {"recurrent_dropout", "Rate at which the state is dropped, with one mask for all steps of a sample."},
      {"return_sequences", "Give the outputs of all steps, not of the last one."},
      {"return_state", "Give the state at the end as well, as outputs of its own."},
      {"go_backwards", "Take the last step first."},
      {"stateful", "Only false: samples do not go on where others ended."},
      {"unroll", "Makes no difference here."},
      {"kernel_size", "An integer, or [height, width]."},
      {"strides", "An integer, or [height, width]; of poolings the default is pool_size."},
      {"pool_size", "An integer, or [height, width]."},
      {"padding", "valid, or same: the output has the input's size divided by the strides, rounded up."},
      {"ZeroPadding2D.padding", "Zeros around: an integer, [height, width], or [[top, bottom], [left, right]]."},
      {"dilation_rate", "Distance of the kernel's taps."},
      {"groups", "Groups of channels, each with filters of its own; of GroupNormalization: normalised together."},
      {"depth_multiplier", "Output channels for each input channel."},
      {"output_padding", "Rows and columns more at the end of the output."},
      {"activation", "Applied to the output."},
      {"use_bias", "Add a bias."},
      {"kernel_initializer", "Of the kernel."},
      {"bias_initializer", "Of the bias."},
      {"depthwise_initializer", "Of the depthwise kernel."},
      {"pointwise_initializer", "Of the 1x1 kernel."},
      {"gamma_initializer", "Of the scale."},
      {"beta_initializer", "Of the offset."},
      {"alpha_initializer", "Of the slopes."},
      {"moving_mean_initializer", "Of the moving mean."},
      {"moving_variance_initializer", "Of the moving variance."},
      {"kernel_regularizer", "Penalty on the kernel, added to the loss."},
      {"bias_regularizer", "Penalty on the bias, added to the loss."},
      {"depthwise_regularizer", "Penalty on the depthwise kernel, added to the loss."},
      {"pointwise_regularizer", "Penalty on the 1x1 kernel, added to the loss."},
      {"gamma_regularizer", "Penalty on the scale, added to the loss."},
      {"beta_regularizer", "Penalty on the offset, added to the loss."},
      {"alpha_regularizer", "Penalty on the slopes, added to the loss."},
      {"axis", "Which axis, -1 for the last: the channels."},
      {"momentum", "How much of the average before is kept at each step."},
      {"SGD.momentum", "How much of the step before is added."},
      {"RMSprop.momentum", "How much of the step before is added."},
      {"epsilon", "Added to what is divided by."},
      {"center", "Add an offset that is trained."},
      {"scale", "A factor; of normalisations: multiply by one that is trained."},
      {"synchronized", "Moments over the batches of all replicas."},
      {"rate", "Share of the values that are set to zero in training."},
      {"stddev", "Standard deviation."},
      {"negative_slope", "Slope below the threshold."},
      {"max_value", "Larger values are cut off here."},
      {"threshold", "Smaller values count as zero, or as the other class."},
      {"alpha", "Slope for negative values."},
      {"CosineDecay.alpha", "The rate at the end, as a share of the initial one."},
      {"CosineDecayRestarts.alpha", "The rate at the end of each decay, as a share of the initial one."},
      {"LocalResponseNormalization.alpha", "Factor of the sum of squares."},
      {"LocalResponseNormalization.beta", "The exponent."},
      {"LocalResponseNormalization.bias", "Added before the exponent."},
      {"depth_radius", "Channels on each side."},
      {"shared_axes", "Axes along which one slope is used."},
      {"keepdims", "Keep height and width, as 1."},
      {"cropping", "Cut off: an integer, [height, width], or [[top, bottom], [left, right]]."},
      {"size", "Factor, or [height, width]."},
      {"interpolation", "How pixels between pixels are computed."},
      {"target_shape", "Extents of one sample; one may be -1."},
      {"dims", "The axes in their new order, counted from 1."},
      {"n", "How often."},
      {"classes", "Number of outputs of the last layer."},
      {"dropout", "Rate of the Dropout before the last layer."},
      {"mean", "The mean, one value or one for each channel."},
      {"variance", "The variance, one value or one for each channel."},
      {"offset", "Added after the scaling."},
      // Initializers and regularizers.
      {"value", "Every element has it."},
      {"minval", "Smallest value."},
      {"maxval", "Largest value."},
      {"gain", "A factor."},
      {"distribution", "What random numbers are drawn from."},
      {"VarianceScaling.mode", "What the variance is divided by: fan_in, fan_out or their mean."},
      {"l1", "Factor of the sum of absolute values."},
      {"l2", "Factor of the sum of squares."},
      // Optimizers and schedules.
      {"learning_rate", "A number, or a schedule such as CosineDecay."},
      {"nesterov", "Look ahead along the momentum."},
      {"rho", "How much of the average before is kept."},
      {"centered", "Divide by the variance of the gradient, not by its mean square."},
      {"beta_1", "How much of the average gradient before is kept."},
      {"beta_2", "How much of the average square before is kept."},
      {"amsgrad", "Divide by the largest average square so far."},
      {"initial_accumulator_value", "Where the sums of squares begin."},
      {"weight_decay", "Share of the weights taken away each step, times the rate."},
      {"clipnorm", "Gradients of each weight are scaled to this norm at most."},
      {"clipvalue", "Elements of gradients are cut off here."},
      {"global_clipnorm", "All gradients together are scaled to this norm at most."},
      {"use_ema", "Keep moving averages of the weights."},
      {"ema_momentum", "How much of the average before is kept."},
      {"ema_overwrite_frequency", "Every so many steps the averages replace the weights."},
      {"initial_learning_rate", "The rate at the start."},
      {"end_learning_rate", "The rate at the end."},
      {"decay_steps", "How long the decay takes: steps, or `5 epochs`."},
      {"decay_rate", "Factor after each decay_steps."},
      {"staircase", "Whole decay_steps count only."},
      {"power", "The exponent."},
      {"cycle", "Begin anew when decay_steps are over."},
      {"warmup_target", "The rate after the warm-up."},
      {"warmup_steps", "How long the rate rises from initial_learning_rate."},
      {"Warmup.warmup_steps", "How long the rate rises to where `then` begins."},
      {"then", "What comes after the warm-up, counted from its end: a number or a schedule."},
      {"first_decay_steps", "How long the first decay takes: steps, or `5 epochs`."},
      {"t_mul", "How many times as long each decay is as the one before."},
      {"m_mul", "How many times as high each decay begins as the one before."},
      {"boundaries", "Steps, or `5 epochs`, at which the next value begins."},
      {"values", "The rates, one more than boundaries."},
      // Losses and metrics.
      {"from_logits", "The output is in front of the softmax or sigmoid, which the loss computes."},
      {"label_smoothing", "Share of the label that is spread over all classes."},
      {"Huber.delta", "Differences above it count by their size, smaller ones by their square."},
      {"CosineSimilarity.axis", "The last axis: -1."},
      {"Dice.axis", "The axes to sum over, such as [1, 2, 3] of [H, W, C]; 0, the batch, is none of them."},
      {"apply_class_balancing", "Weigh labels of 1 with alpha, labels of 0 with 1 - alpha."},
      {"BinaryFocalCrossentropy.alpha", "Weight of the labels of 1 where classes are balanced."},
      {"CategoricalFocalCrossentropy.alpha", "Factor of the whole loss."},
      {"BinaryFocalCrossentropy.gamma", "How much less what is nearly right counts; 0: crossentropy."},
      {"CategoricalFocalCrossentropy.gamma", "How much less what is nearly right counts; 0: crossentropy."},
      {"k", "The right class is among the k likeliest."},
      {"BinaryAccuracy.threshold", "Above it a prediction is a 1."},
      {"F1Score.threshold", "Above it a prediction is positive; without it the largest of a row is."},
      {"thresholds", "Above them a prediction is positive; one value each, and an area over all of them."},
      {"top_k", "Only the k largest values of a row can be positive."},
      {"class_id", "Only this class is counted."},
      {"average", "null (a value per class), micro, macro or weighted."},
      {"num_thresholds", "How many even thresholds the curve has."},
      {"curve", "ROC, or PR: precision over recall."},
      {"summation_method", "The height between two thresholds: interpolation, minoring or majoring."},
      {"multi_label", "Each class has a curve, and the areas are averaged."},
      {"num_labels", "With multi_label: how many classes there are."},
      {"label_weights", "Weights of the classes."},
      {"AUC.from_logits", "The output is in front of a sigmoid, which the metric computes."},
      {"class_aggregation", "uniform_average, variance_weighted_average, or null: a score per value."},
      {"num_regressors", "Not 0: the score is adjusted for so many of them."},
      {"num_classes", "How many classes the table of labels and predictions has."},
      {"ignore_class", "Rows with this label do not count."},
      // Transforms.
      {"height", "Rows."},
      {"width", "Columns."},
      {"factor", "A share, or [smallest, largest]; of rates: what they are multiplied by."},
      {"height_factor", "Share of the height, or [smallest, largest]."},
      {"width_factor", "Share of the width, or [smallest, largest]."},
      {"value_range", "[smallest, largest] value of a pixel."},
      {"antialias", "Average over the pixels that one stands for when the image shrinks."},
      {"RandomFlip.mode", "horizontal, vertical, or both."},
      // Data.
      {"validation", "The set that is judged after epochs."},
      {"test", "The set that eval judges."},
      {"transforms", "What is done to every sample, on its way to the model."},
      {"eval", "Those of validation, test and prediction."},
      {"loader", "How samples are read ahead."},
      {"shuffle", "full, none, or `buffer N`."},
      {"workers", "Threads that read and transform."},
      {"prefetch", "Batches that are ready ahead."},
      {"cache", "Keep decoded samples: none, memory or disk."},
      {"disk", "A folder for the cache."},
      {"memory", "How many bytes the cache may take."},
      {"samples", "How many."},
      {"dtype", "Type of the values in the file."},
      {"fraction", "Share of the set that is split off."},
      // Training.
      {"epochs", "Passes over the training set; or `steps`."},
      {"steps", "Updates of the weights in all; or `epochs`."},
      {"batch_size", "Samples of a step, all replicas together."},
      {"batch_size_per_replica", "Samples of a step for each replica, in place of batch_size."},
      {"accumulate_steps", "Pieces that each replica's share of the batch is cut into: less memory, the same update."},
      {"optimizer", "How weights are updated."},
      {"loss", "What is minimised: one loss, or {output name: loss}."},
      {"loss_weights", "Factors of the outputs' losses in the whole loss: {output name: number}."},
      {"metrics", "What else is computed and logged: a list, or {output name: list}."},
      {"class_weight", "balanced, or {class: weight}."},
      {"dtype_policy", "float32; on GPUs also mixed_bfloat16 and mixed_float16."},
      {"lr_scaling", "The rate times batch / reference_batch_size, or its root."},
      {"reference_batch_size", "The batch that the learning rate was chosen for."},
      {"validate_every", "Whole epochs between validations, or so many steps, such as 500 steps."},
      {"log_every", "Between lines of the log: `50 steps`, `10s`."},
      {"max_time", "Stop after this time, such as 30m."},
      {"on_nonfinite", "What a step does whose loss or gradients are not finite."},
      {"stop", "End the run with exit code 6."},
      {"skip_step", "Leave the update out and go on."},
      {"rollback", "Go back to the last checkpoint, with a smaller rate."},
      {"at_most", "So often in a run; then it stops."},
      // Parallel and runtime.
      {"split", "Shares of the replicas: even, or weights such as [2, 1]."},
      {"sync_batchnorm", "Moments of BatchNormalization over the batches of all replicas."},
      {"bucket_size", "Bytes of gradients that are summed at once."},
      {"check_replicas", "How often the weights of all replicas are compared."},
      {"watchdog", "A step without progress for this long ends the run with exit code 9."},
      {"deterministic", "The same bits in every run on one machine."},
      {"cache_frozen_prefix", "Keep the outputs of frozen layers instead of computing them in every epoch."},
      {"conv", "Convolutions by rule, or without Winograd."},
      {"conv_cache", "The file of what `bench --tune` found."},
      {"bn_unbiased_running_var", "Moving variances as PyTorch has them, with n - 1."},
      {"tf32", "TF32 for float32 on GPUs."},
      {"workspace_limit", "Bytes that a cuDNN engine may take at most."},
      {"autotune", "How cuDNN engines are chosen."},
      {"cuda_graphs", "Record steps and replay them."},
      {"resident", "Keep whole data sets on the GPU where they fit."},
      // Callbacks.
      {"monitor", "The name in the logs that decides: val_loss, val_accuracy, ..."},
      {"mode", "Whether less or more is better; auto: by the name."},
      {"schedule", "An expression of epoch, counted from 0, and lr: 'lr * 0.9 if epoch > 3 else lr'."},
      {"patience", "Epochs without improvement that are waited for."},
      {"min_delta", "A smaller change is no improvement."},
      {"baseline", "What must be improved upon."},
      {"restore_best_weights", "At the end the weights are those of the best epoch."},
      {"start_from_epoch", "Epochs before this one, counted from 0, are passed over."},
      {"cooldown", "Epochs to wait after the rate was reduced."},
      {"min_lr", "The rate is not reduced below this."},
      {"filepath", "The file in checkpoints/; {epoch:02d} and {val_loss:.2f} are filled in."},
      {"save_best_only", "Save only what is better than all before."},
      {"save_weights_only", "Without the training state: Keras opens it, --resume does not."},
      {"save_freq", "epoch, or every so many steps or seconds."},
      {"initial_value_threshold", "The best value so far, at the start."},
      {"max_to_keep", "Older files beyond these are removed."},
      {"filename", "The file in the run's folder."},
      {"append", "Go on with the file instead of beginning it anew."},
      {"separator", "Between columns."},
  };
  return all;
}

/// Of the key of one type; "": there is none but that of all keys of the name.
std::string_view own_description(const std::string& type, const std::string& key) {
  const auto own = descriptions().find(type + "." + key);
  return own == descriptions().end() ? "" : own->second;
}

std::string_view description(const std::string& type, const std::string& key) {
  if (const std::string_view own = own_description(type, key); !own.empty()) return own;
  const auto found = descriptions().find(key);
  return found == descriptions().end() ? "" : found->second;
}

void describe(Node& schema, const std::string& type) {
  for (Node& item : schema.items()) describe(item, type);
  for (Node::Entry& entry : schema.entries()) {
    if (entry.key != "properties") {
      const std::size_t dot = entry.key.find('.');  // "layer.Conv2D" of the definitions
      describe(entry.value, dot == std::string::npos ? type : entry.key.substr(dot + 1));
      continue;
    }
    for (Node::Entry& property : entry.value.entries()) {
      describe(property.value, type);
      const Node* reference = property.value.find("$ref");
      const bool elsewhere = reference != nullptr && reference->str().find("/properties/") != std::string::npos;
      const std::string_view text = elsewhere ? own_description(type, property.key) : description(type, property.key);
      if (!text.empty() && property.value.is_map() && property.value.find("description") == nullptr)
        property.value.set("description", Node::text(std::string(text)));
    }
  }
}

}  // namespace

void describe_keys(Node& schema) { describe(schema, ""); }

}  // namespace dptrain::experiment
