// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Reads `.efx` bytes: verifies, decodes and validates before anything is used.

#include "epifold/runtime/Executable.h"

#include "ErrorFormat.h"
#include "ExecutableFormat.h"
#include "FileIo.h"
#include "Hash.h"
#include "efx_generated.h"

#include <algorithm>
#include <cstring>
#include <new>

namespace epifold::runtime {
namespace {

Error corrupt(std::string what) {
  return makeError(ErrorCode::Corrupt,
                   "the executable is damaged or is none: {}", what);
}

/// Turns a verified plan into plain structs. Tables of a hostile plan may point
/// to one large vector many times; `budget_` keeps the copies within the size
/// that an honest plan of these bytes can have.
class PlanReader {
public:
  explicit PlanReader(size_t planBytes) : budget_(planBytes) {}

  /// False when tables of the plan share bytes, are of an unknown kind, or lie
  /// where their elements cannot be read.
  bool read(const efx::Plan &plan, ExecutableDesc &desc) {
    desc.producer = text(plan.producer());
    desc.fusion = text(plan.fusion());
    list(*plan.symbols(), desc.symbols,
         [&](const flatbuffers::String &s) { return text(&s); });
    auto readItem = [&](const auto &table) { return item(table); };
    list(*plan.exprs(), desc.exprs, readItem);
    list(*plan.tensors(), desc.tensors, readItem);
    list(*plan.buffers(), desc.buffers, readItem);
    list(*plan.modules(), desc.modules, readItem);
    list(*plan.launches(), desc.launches, readItem);
    desc.graph = vector(*plan.graph());
    return !malformed_;
  }

private:
  /// False once anything is wrong with the plan.
  bool spend(size_t bytes) {
    if (bytes > budget_)
      malformed_ = true;
    else
      budget_ -= bytes;
    return !malformed_;
  }

  std::string text(const flatbuffers::String *string) {
    return spend(string->size()) ? string->str() : std::string();
  }

  template <typename T>
  std::vector<T> vector(const flatbuffers::Vector<T> &source) {
    if (!spend(source.size() * sizeof(T)))
      return {};
    return {source.begin(), source.end()};
  }

  template <typename Source, typename T, typename Read>
  void list(const Source &source, std::vector<T> &target, Read read) {
    if (!spend(source.size() * sizeof(flatbuffers::uoffset_t)))
      return;
    for (const auto *table : source) {
      if (malformed_)
        return;
      target.push_back(read(*table));
    }
  }

  ExprDesc item(const efx::Expr &expr) {
    ExprDesc result;
    // The verifier checks the alignment of a vector's length alone, which is
    // less than what these elements have.
    if (reinterpret_cast<uintptr_t>(expr.steps()->Data()) %
            alignof(efx::ExprStep) !=
        0)
      malformed_ = true;
    if (!spend(expr.steps()->size() * sizeof(efx::ExprStep)))
      return result;
    for (const efx::ExprStep *step : *expr.steps())
      result.steps.push_back({static_cast<ExprOp>(step->op()), step->value()});
    return result;
  }

  TensorDesc item(const efx::Tensor &tensor) {
    TensorDesc result;
    result.name = text(tensor.name());
    result.kind = static_cast<TensorKind>(tensor.kind());
    result.type = static_cast<DataType>(tensor.type());
    result.shape = vector(*tensor.shape());
    result.layout = vector(*tensor.layout());
    result.buffer = tensor.buffer();
    return result;
  }

  BufferDesc item(const efx::Buffer &buffer) {
    return {static_cast<BufferKind>(buffer.kind()), buffer.size(),
            vector(*buffer.data())};
  }

  ImageDesc item(const efx::Image &image) {
    ImageDesc result;
    result.target = text(image.target());
    result.ptx = vector(*image.ptx());
    result.cubin = vector(*image.cubin());
    return result;
  }

  ModuleDesc item(const efx::Module &module) {
    ModuleDesc result;
    result.entry = text(module.entry());
    list(*module.images(), result.images,
         [&](const efx::Image &image) { return item(image); });
    return result;
  }

  static std::optional<ExprIndex> optional(uint32_t expr) {
    return expr == kNoExpr ? std::nullopt : std::optional<ExprIndex>(expr);
  }

  static PointerArg pointer(const efx::Arg &arg) {
    return {arg.buffer(), optional(arg.expr())};
  }

  static std::array<uint32_t, 3> triple(const efx::Dim3 &dim) {
    return {dim.x(), dim.y(), dim.z()};
  }

  TensorMapArg item(const efx::TensorMap &map) {
    TensorMapArg result;
    result.base = pointer(*map.base());
    result.type = static_cast<DataType>(map.type());
    result.sizes = vector(*map.sizes());
    result.strides = vector(*map.strides());
    result.box = vector(*map.box());
    return result;
  }

  KernelVariant item(const efx::KernelVariant &variant) {
    KernelVariant result;
    result.module = variant.module_index();
    if (variant.limited_size() != kNoExpr)
      result.limit = {variant.limited_size(), variant.size_limit()};
    result.grid = triple(*variant.grid());
    result.block = triple(*variant.block());
    result.sharedBytes = variant.shared_bytes();
    result.overlapsPrevious = variant.overlaps_previous();
    result.isResident = variant.is_resident();
    std::vector<TensorMapArg> maps;
    list(*variant.maps(), maps,
         [&](const efx::TensorMap &map) { return item(map); });
    if (!spend(variant.args()->size() * sizeof(efx::Arg)))
      return result;
    size_t nextMap = 0;
    for (const efx::Arg *arg : *variant.args()) {
      switch (arg->kind()) {
      case efx::ArgKind_Pointer:
        result.args.push_back(pointer(*arg));
        break;
      case efx::ArgKind_Int:
        result.args.push_back(IntArg{arg->expr()});
        break;
      case efx::ArgKind_TensorMap:
        // In order, and each once: so the copies are within what was spent.
        if (arg->expr() != nextMap || nextMap == maps.size()) {
          malformed_ = true;
          return result;
        }
        result.args.push_back(std::move(maps[nextMap++]));
        break;
      default:
        malformed_ = true; // an argument of a kind that is not known
        return result;
      }
    }
    malformed_ |= nextMap != maps.size();
    return result;
  }

  KernelLaunch item(const efx::KernelLaunch &launch) {
    KernelLaunch result;
    list(*launch.variants(), result.variants,
         [&](const efx::KernelVariant &variant) { return item(variant); });
    return result;
  }

  LaunchDesc item(const efx::Launch &launch) {
    LaunchDesc result;
    result.label = text(launch.label());
    result.flops = optional(launch.flops());
    result.bytes = optional(launch.bytes());
    if (const auto *kernel = launch.body_as_KernelLaunch())
      result.body = item(*kernel);
    else if (const auto *memset = launch.body_as_MemsetLaunch())
      result.body = MemsetLaunch{pointer(*memset->target()), memset->size(),
                                 memset->value()};
    else if (const auto *copy = launch.body_as_CopyLaunch())
      result.body = CopyLaunch{pointer(*copy->target()),
                               pointer(*copy->source()), copy->size()};
    else
      malformed_ = true; // a body of a kind that this version does not know
    return result;
  }

  size_t budget_;
  bool malformed_ = false;
};

/// Copies bytes to memory that is aligned for FlatBuffers' checks.
std::unique_ptr<std::max_align_t[]> alignedCopy(const uint8_t *bytes,
                                                size_t size) {
  auto copy = std::make_unique_for_overwrite<std::max_align_t[]>(
      size / sizeof(std::max_align_t) + 1);
  std::memcpy(copy.get(), bytes, size);
  return copy;
}

flatbuffers::Verifier verifierFor(const uint8_t *bytes, size_t size) {
  // Every table takes at least four bytes, so this bounds only repeated visits.
  constexpr size_t kMaxDepth = 16;
  auto maxTables = static_cast<flatbuffers::uoffset_t>(size / 4 + 1);
  return flatbuffers::Verifier(bytes, size, kMaxDepth, maxTables);
}

} // namespace

bool looksLikeExecutable(std::span<const uint8_t> bytes) {
  return bytes.size() >= 8 && efx::EnvelopeBufferHasIdentifier(bytes.data());
}

Expected<Executable> Executable::load(std::span<const uint8_t> bytes) {
  if (!looksLikeExecutable(bytes))
    return corrupt(bytes.size() < 8 ? "it is too short"
                                    : "it does not carry the mark 'EFX1'");
  if (bytes.size() >= FLATBUFFERS_MAX_BUFFER_SIZE)
    return corrupt("it is larger than 2 GiB");

  auto file = alignedCopy(bytes.data(), bytes.size());
  const auto *fileBytes = reinterpret_cast<const uint8_t *>(file.get());
  flatbuffers::Verifier envelopeVerifier = verifierFor(fileBytes, bytes.size());
  if (!efx::VerifyEnvelopeBuffer(envelopeVerifier))
    return corrupt("its envelope is truncated or malformed");
  const efx::Envelope *envelope = efx::GetEnvelope(fileBytes);
  if (envelope->version() != kFormatVersion)
    return makeError(ErrorCode::Unsupported,
                     "the executable has format version {}, this runtime reads "
                     "version {}: compile it again with a matching "
                     "epifold-compile",
                     envelope->version(), kFormatVersion);
  if (!envelope->plan())
    return corrupt("it holds no plan");
  std::span<const uint8_t> plan(envelope->plan()->data(),
                                envelope->plan()->size());
  if (hashBytes(plan) != envelope->hash())
    return corrupt("its content does not match its hash");
  // The hash covers the plan only; rebuilding the rest covers every other byte.
  std::vector<uint8_t> rebuilt = wrapPlan(plan);
  if (!std::equal(rebuilt.begin(), rebuilt.end(), bytes.begin(), bytes.end()))
    return corrupt("its envelope was altered");

  auto copy = alignedCopy(plan.data(), plan.size());
  const auto *planBytes = reinterpret_cast<const uint8_t *>(copy.get());
  flatbuffers::Verifier planVerifier = verifierFor(planBytes, plan.size());
  if (!planVerifier.VerifyBuffer<efx::Plan>(nullptr))
    return corrupt("its plan is malformed");
  auto desc = std::make_shared<ExecutableDesc>();
  if (!PlanReader(plan.size())
           .read(*flatbuffers::GetRoot<efx::Plan>(planBytes), *desc))
    return corrupt("parts of its plan share bytes, are misplaced, or are of an "
                   "unknown kind");
  if (Expected<void> valid = validate(*desc); !valid)
    return corrupt(valid.error().message());
  return Executable(std::move(desc));
}

Expected<Executable> Executable::open(const std::string &path) {
  auto file = MappedFile::open(path);
  if (!file)
    return file.error();
  std::span<const std::byte> bytes = (*file)->bytes();
  Expected<Executable> executable =
      load({reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size()});
  if (!executable)
    return executable.error().withContext("'" + path + "'");
  return executable;
}

const TensorDesc *Executable::find(TensorKind kind,
                                   std::string_view name) const {
  for (const TensorDesc &tensor : desc_->tensors)
    if (tensor.kind == kind && tensor.name == name)
      return &tensor;
  return nullptr;
}

} // namespace epifold::runtime
