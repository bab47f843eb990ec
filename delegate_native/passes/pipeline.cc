#include "delegate_native/passes/pipeline.h"

#include "delegate_native/base/log.h"
#include "delegate_native/base/texts.h"
#include "delegate_native/passes/passes.h"

namespace quadra {
namespace {

// Most passes make nodes that ask no more of a device than those they replace.
template <int (*run)(Graph*)>
int Any(Graph* graph, const Fits&) {
  return run(graph);
}

}  // namespace

const std::vector<Pass>& Pipeline() {
  static const std::vector<Pass>& passes = *new std::vector<Pass>{
      {QUADRA_TEXT("remove_unread"), Any<RemoveUnread>},
      {QUADRA_TEXT("merge_equal_nodes"), Any<MergeEqualNodes>},
      {QUADRA_TEXT("remove_redundant_rounding"), Any<RemoveRedundantRounding>},
      {QUADRA_TEXT("split_conv_of_concat"), Any<SplitConvOfConcat>},
      {QUADRA_TEXT("remove_identity"), Any<RemoveIdentity>},
      {QUADRA_TEXT("merge_reshapes"), Any<MergeReshapes>},
      {QUADRA_TEXT("fuse_silu"), Any<FuseSilu>},
      {QUADRA_TEXT("fuse_norm"), FuseNorm},
      {QUADRA_TEXT("fuse_group_norm"), FuseGroupNorm},
      {QUADRA_TEXT("fuse_rope"), FuseRope},
      {QUADRA_TEXT("fuse_rope_of_norm"), FuseRopeOfNorm},
      {QUADRA_TEXT("remove_product_reshapes"), Any<RemoveProductReshapes>},
      {QUADRA_TEXT("fuse_attention"), FuseAttention},
      {QUADRA_TEXT("merge_transposes"), Any<MergeTransposes>},
      {QUADRA_TEXT("cancel_transposes"), CancelTransposes},
      {QUADRA_TEXT("fuse_attention"), FuseAttention},  // whose rows came after channels
      {QUADRA_TEXT("remove_pixel_reshapes"), Any<RemovePixelReshapes>},
      {QUADRA_TEXT("merge_moves"), MergeMoves},
      {QUADRA_TEXT("remove_output_reshape"), Any<RemoveOutputReshape>},
      {QUADRA_TEXT("fold_padding"), Any<FoldPadding>},
      {QUADRA_TEXT("split_pixel_depthwise"), Any<SplitPixelDepthwise>},
      {QUADRA_TEXT("fold_mul_into_weights"), Any<FoldMulIntoWeights>},
      {QUADRA_TEXT("fold_add_into_bias"), Any<FoldAddIntoBias>},
      {QUADRA_TEXT("fold_mul_into_weights"),
       Any<FoldMulIntoWeights>},  // factors that a term stood before
      {QUADRA_TEXT("move_resize_after_conv"), Any<MoveResizeAfterConv>},
      {QUADRA_TEXT("merge_channel_padding"), Any<MergeChannelPadding>},
      {QUADRA_TEXT("merge_elementwise"), MergeElementwise},
  };
  return passes;
}

Status RunPasses(Graph* graph, const Fits& fits) {
  // A pass that never ends would hang the application; a large graph changes in few rounds.
  constexpr int kMostRounds = 1000;
  QUADRA_RETURN_IF_ERROR(Verify(*graph));
  for (const Pass& pass : Pipeline()) {
    int changes = 0, round = 0;
    for (int changed = 1; changed > 0; changes += changed) {
      if (++round > kMostRounds) return Internal("pass %s does not come to an end", pass.name);
      changed = pass.run(graph, fits);
    }
    const Status status = Verify(*graph);
    if (!status.ok()) return Internal("after pass %s: %s", pass.name, status.message().c_str());
    if (changes > 0) {
      Log(3, "pass %s: %d changes, %zu nodes left", pass.name, changes, graph->nodes.size());
    }
  }
  return Status();
}

}  // namespace quadra
