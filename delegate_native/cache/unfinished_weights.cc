#include "delegate_native/cache/unfinished_weights.h"

#include <utility>

namespace quadra {

UnfinishedWeights::UnfinishedWeights(std::string folder, const std::string& path,
                                     const WeightsAt& weights)
    : folder_(std::move(folder)),
      path_(path),
      weights_(weights),
      file_(std::make_unique<UnfinishedFile>(path)),
      held_(file_->unfinished_path()),
      refusal_("the device alone has its weights") {}

void UnfinishedWeights::Keep(const uint8_t* data) {
  const MutexLock lock(&mutex_);
  if (state_ != State::kUnknown) return;
  state_ = State::kAsked;
  if (IsKnownToBeWhole(path_, weights_)) return;
  const Bytes bytes = {data, static_cast<size_t>(weights_.size)};
  Status status = MakeFolder(folder_);
  if (status.ok()) status = file_->Write(WriteBytes, &bytes);
  if (status.ok()) state_ = State::kWritten;
  else refusal_ = status.message();
}

Status UnfinishedWeights::Finish() {
  const MutexLock lock(&mutex_);
  if (state_ != State::kWritten) return Unsupported("%s", refusal_.c_str());
  state_ = State::kAsked;
  Status status = file_->Finish();
  file_.reset();
  if (!status.ok()) refusal_ = status.message();
  return status;
}

}  // namespace quadra
