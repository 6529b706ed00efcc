// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/* The C interface of the compiler library, opened by the runtime's tools. */

#ifndef EPIFOLD_C_COMPILER_H
#define EPIFOLD_C_COMPILER_H

#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32)
#define EPIFOLD_C_API
#else
#define EPIFOLD_C_API __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Raised whenever a declaration below changes meaning. A caller refuses a
 * library whose epifold_abi_version() differs. */
#define EPIFOLD_ABI_VERSION 1

/* Names here are C's, not the C++ code's. */
/* NOLINTBEGIN(readability-identifier-naming,modernize-use-using) */

/* A dense row-major tensor. `dtype` is the number of epifold::DataType.
 * Pointers are valid during the call that passes the tensor. */
typedef struct epifold_tensor {
  const char *name;
  uint32_t dtype;
  uint32_t rank;
  const int64_t *shape;
  const void *data;
} epifold_tensor;

/* An argument or result of a graph. `kind` is 0 input, 1 parameter, 2 result
 * (epifold::runtime::TensorKind); a dynamic dimension is -1. */
typedef struct epifold_signature_entry {
  const char *name;
  uint32_t kind;
  uint32_t dtype;
  uint32_t rank;
  const int64_t *shape;
} epifold_signature_entry;

/* As epifold::runtime::StatusWord without its reserve. */
typedef struct epifold_run_status {
  int64_t bits;
  int64_t first_nan_row;
  int64_t first_index_row;
} epifold_run_status;

/* Receivers. Each is called during the call it was passed to, on the calling
 * thread. `message` is one paragraph of UTF-8 without a terminating zero. */
typedef void (*epifold_bytes_sink)(void *context, const void *data,
                                   size_t size);
typedef void (*epifold_tensor_sink)(void *context,
                                    const epifold_tensor *tensor);
typedef void (*epifold_signature_sink)(void *context,
                                       const epifold_signature_entry *entry);
typedef void (*epifold_error_sink)(void *context, const char *message,
                                   size_t size);
typedef void (*epifold_text_sink)(void *context, const char *text);

/* EPIFOLD_ABI_VERSION of the library. */
EPIFOLD_C_API int epifold_abi_version(void);

/* Loads an MLIR pass plugin for the rest of the process: `out` is called once
 * for each fusion that it adds. Returns 0, or 1 after a call of `error`. */
EPIFOLD_C_API int epifold_load_pass_plugin(const char *path,
                                           epifold_text_sink out,
                                           void *out_context,
                                           epifold_error_sink error,
                                           void *error_context);

/* Calls `out` for each name that the option "fusion" takes, in the order in
 * which the fusions run. */
EPIFOLD_C_API void epifold_fusion_names(epifold_text_sink out,
                                        void *out_context);

/* The functions below take a graph as MLIR text or bytecode and options as a
 * JSON object ("" means none). They return 0 on success and 1 after one or more
 * calls of `error`. All are safe to call from several threads at once. Every
 * one has the option "math": "portable" | "fast", in place of what the graph
 * says. */

/* Compiles to the bytes of an executable: `out` is called once.
 * Options: "fusion": "none" | "all" | "a,b" | "all,-a"; "targets": ["sm_90a",
 * "sm_80"]; "tuning": the content of a tuning file; "name": file name for
 * messages. */
EPIFOLD_C_API int epifold_compile(const char *data, size_t size,
                                  const char *options_json,
                                  epifold_bytes_sink out, void *out_context,
                                  epifold_error_sink error,
                                  void *error_context);

/* Lowers the graph and tells what fused and what did not: `out` is called once
 * a remark. Options: "fusion"; "remarks": "all" | "fused" | "missed"; "name".
 */
EPIFOLD_C_API int
epifold_fusion_remarks(const char *data, size_t size, const char *options_json,
                       epifold_text_sink out, void *out_context,
                       epifold_error_sink error, void *error_context);

/* Lists arguments, then results, in order. Options: "name". */
EPIFOLD_C_API int epifold_signature(const char *data, size_t size,
                                    const char *options_json,
                                    epifold_signature_sink out,
                                    void *out_context, epifold_error_sink error,
                                    void *error_context);

/* Evaluates on the CPU: `out` is called once a result, in order. Inputs and
 * parameters are matched by name; names the graph does not know are ignored.
 * Options: "level": "graph" | "kernel"; "fusion" (kernel level); "name";
 * "threads": 0 means all cores. `status` is always written. */
EPIFOLD_C_API int
epifold_reference_run(const char *data, size_t size,
                      const epifold_tensor *inputs, size_t input_count,
                      const char *options_json, epifold_tensor_sink out,
                      void *out_context, epifold_run_status *status,
                      epifold_error_sink error, void *error_context);

/* NOLINTEND(readability-identifier-naming,modernize-use-using) */

#ifdef __cplusplus
}
#endif

#endif /* EPIFOLD_C_COMPILER_H */
