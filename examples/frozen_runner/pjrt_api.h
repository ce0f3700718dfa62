// SPDX-License-Identifier: Apache-2.0
// The part of PJRT's C interface that run_frozen calls.
//
// The full interface is xla/pjrt/c/pjrt_c_api.h of OpenXLA (https://github.com/openxla/xla,
// Apache-2.0). No Python package delivers that header, so this one declares the same names with the
// same layout. Functions only join the end of the table of a major version, so the places below hold
// for every plugin of major version 0 since minor version 33. Where the full header is at hand,
// include it instead.

#ifndef FROZEN_RUNNER_PJRT_API_H_
#define FROZEN_RUNNER_PJRT_API_H_

#include <cstddef>
#include <cstdint>

extern "C" {

constexpr int kPjrtMajorVersion = 0;
constexpr int kPjrtOldestMinorVersion = 33;

// Objects of the plugin, known by their addresses.
struct PJRT_Error;
struct PJRT_Event;
struct PJRT_Client;
struct PJRT_Device;
struct PJRT_Memory;
struct PJRT_Executable;
struct PJRT_LoadedExecutable;
struct PJRT_Buffer;
struct PJRT_ExecuteContext;

// Every struct begins so. `struct_size` tells the plugin which members the caller knows.
#define PJRT_STRUCT_HEAD \
  std::size_t struct_size; \
  void* extension_start

enum PJRT_Buffer_Type : unsigned {
  PJRT_Buffer_Type_PRED = 1,
  PJRT_Buffer_Type_S8 = 2,
  PJRT_Buffer_Type_S16 = 3,
  PJRT_Buffer_Type_S32 = 4,
  PJRT_Buffer_Type_S64 = 5,
  PJRT_Buffer_Type_U8 = 6,
  PJRT_Buffer_Type_U16 = 7,
  PJRT_Buffer_Type_U32 = 8,
  PJRT_Buffer_Type_U64 = 9,
  PJRT_Buffer_Type_F16 = 10,
  PJRT_Buffer_Type_F32 = 11,
  PJRT_Buffer_Type_F64 = 12,
  PJRT_Buffer_Type_BF16 = 13,
  PJRT_Buffer_Type_C64 = 14,
  PJRT_Buffer_Type_C128 = 15,
  PJRT_Buffer_Type_F8E5M2 = 16,
  PJRT_Buffer_Type_F8E4M3FN = 17,
};

enum PJRT_HostBufferSemantics : unsigned {
  PJRT_HostBufferSemantics_kImmutableOnlyDuringCall = 0,
};

enum PJRT_Buffer_MemoryLayout_Type : unsigned {
  PJRT_Buffer_MemoryLayout_Type_Tiled = 0,
  PJRT_Buffer_MemoryLayout_Type_Strides = 1,
};

struct PJRT_Error_Destroy_Args {
  PJRT_STRUCT_HEAD;
  PJRT_Error* error;
};

struct PJRT_Error_Message_Args {
  PJRT_STRUCT_HEAD;
  const PJRT_Error* error;
  const char* message;  // out
  std::size_t message_size;  // out
};

struct PJRT_Plugin_Initialize_Args {
  PJRT_STRUCT_HEAD;
};

struct PJRT_Event_Destroy_Args {
  PJRT_STRUCT_HEAD;
  PJRT_Event* event;
};

struct PJRT_Event_Await_Args {
  PJRT_STRUCT_HEAD;
  PJRT_Event* event;
};

struct PJRT_Client_Create_Args {
  PJRT_STRUCT_HEAD;
  const void* create_options;
  std::size_t num_options;
  void* kv_get_callback;
  void* kv_get_user_arg;
  void* kv_put_callback;
  void* kv_put_user_arg;
  PJRT_Client* client;  // out
  void* kv_try_get_callback;
  void* kv_try_get_user_arg;
};

struct PJRT_Client_Destroy_Args {
  PJRT_STRUCT_HEAD;
  PJRT_Client* client;
};

struct PJRT_Client_PlatformName_Args {
  PJRT_STRUCT_HEAD;
  PJRT_Client* client;
  const char* platform_name;  // out
  std::size_t platform_name_size;  // out
};

struct PJRT_Client_AddressableDevices_Args {
  PJRT_STRUCT_HEAD;
  PJRT_Client* client;
  PJRT_Device* const* addressable_devices;  // out
  std::size_t num_addressable_devices;  // out
};

struct PJRT_Program {
  PJRT_STRUCT_HEAD;
  const char* code;
  std::size_t code_size;
  const char* format;  // "mlir" for StableHLO
  std::size_t format_size;
};

struct PJRT_Client_Compile_Args {
  PJRT_STRUCT_HEAD;
  PJRT_Client* client;
  const PJRT_Program* program;
  const char* compile_options;  // XLA's CompileOptionsProto, serialized
  std::size_t compile_options_size;
  PJRT_LoadedExecutable* executable;  // out
};

struct PJRT_Buffer_MemoryLayout_Tiled {
  PJRT_STRUCT_HEAD;
  const std::int64_t* minor_to_major;
  std::size_t minor_to_major_size;
  const std::int64_t* tile_dims;
  const std::size_t* tile_dim_sizes;
  std::size_t num_tiles;
};

struct PJRT_Buffer_MemoryLayout {
  PJRT_STRUCT_HEAD;
  PJRT_Buffer_MemoryLayout_Tiled tiled;  // the longer member of a union
  PJRT_Buffer_MemoryLayout_Type type;
};

struct PJRT_Client_BufferFromHostBuffer_Args {
  PJRT_STRUCT_HEAD;
  PJRT_Client* client;
  const void* data;
  PJRT_Buffer_Type type;
  const std::int64_t* dims;
  std::size_t num_dims;
  const std::int64_t* byte_strides;  // none: row-major
  std::size_t num_byte_strides;
  PJRT_HostBufferSemantics host_buffer_semantics;
  PJRT_Device* device;
  PJRT_Memory* memory;
  PJRT_Buffer_MemoryLayout* device_layout;
  PJRT_Event* done_with_host_buffer;  // out
  PJRT_Buffer* buffer;  // out
};

struct PJRT_Executable_Destroy_Args {
  PJRT_STRUCT_HEAD;
  PJRT_Executable* executable;
};

struct PJRT_Executable_NumOutputs_Args {
  PJRT_STRUCT_HEAD;
  PJRT_Executable* executable;
  std::size_t num_outputs;  // out
};

struct PJRT_LoadedExecutable_Destroy_Args {
  PJRT_STRUCT_HEAD;
  PJRT_LoadedExecutable* executable;
};

struct PJRT_LoadedExecutable_GetExecutable_Args {
  PJRT_STRUCT_HEAD;
  PJRT_LoadedExecutable* loaded_executable;
  PJRT_Executable* executable;  // out
};

struct PJRT_ExecuteOptions {
  PJRT_STRUCT_HEAD;
  void* send_callbacks;
  void* recv_callbacks;
  std::size_t num_send_ops;
  std::size_t num_recv_ops;
  int launch_id;
  const std::int64_t* non_donatable_input_indices;
  std::size_t num_non_donatable_input_indices;
  PJRT_ExecuteContext* context;
  const char* call_location;
  std::size_t num_tasks;
  int* task_ids;
  std::int64_t* incarnation_ids;
  void* multi_slice_config;
  bool use_major_to_minor_data_layout_for_callbacks;
  void* hlo_output_callbacks;
  std::size_t num_hlo_output_callbacks;
};

struct PJRT_LoadedExecutable_Execute_Args {
  PJRT_STRUCT_HEAD;
  PJRT_LoadedExecutable* executable;
  PJRT_ExecuteOptions* options;
  PJRT_Buffer* const* const* argument_lists;  // [num_devices][num_args]
  std::size_t num_devices;
  std::size_t num_args;
  PJRT_Buffer** const* output_lists;  // [num_devices][num_outputs], out
  PJRT_Event** device_complete_events;
  PJRT_Device* execute_device;
};

struct PJRT_Buffer_Destroy_Args {
  PJRT_STRUCT_HEAD;
  PJRT_Buffer* buffer;
};

struct PJRT_Buffer_ElementType_Args {
  PJRT_STRUCT_HEAD;
  PJRT_Buffer* buffer;
  PJRT_Buffer_Type type;  // out
};

struct PJRT_Buffer_Dimensions_Args {
  PJRT_STRUCT_HEAD;
  PJRT_Buffer* buffer;
  const std::int64_t* dims;  // out
  std::size_t num_dims;  // out
};

struct PJRT_Buffer_ToHostBuffer_Args {
  PJRT_STRUCT_HEAD;
  PJRT_Buffer* src;
  PJRT_Buffer_MemoryLayout* host_layout;
  void* dst;  // none: the plugin sets dst_size
  std::size_t dst_size;
  PJRT_Event* event;  // out
};

struct PJRT_Api_Version {
  PJRT_STRUCT_HEAD;
  int major_version;
  int minor_version;
};

struct PJRT_Api {
  PJRT_STRUCT_HEAD;
  PJRT_Api_Version pjrt_api_version;
  void* functions[];  // `FunctionAt` in pjrt.h says which is where
};

// Returns the plugin's interface. Every plugin exports this function.
typedef const PJRT_Api* GetPjrtApiFunction();

}  // extern "C"

// The place of a function in the table, by the type of its argument. An error, unlike other results,
// is destroyed and read by functions that return nothing.
template <typename Args>
struct FunctionAt;

#define PJRT_FUNCTION_AT(name, place) \
  template <> \
  struct FunctionAt<PJRT_##name##_Args> { \
    static constexpr std::size_t value = place; \
    static constexpr const char* text = "PJRT_" #name; \
  }

PJRT_FUNCTION_AT(Error_Destroy, 0);
PJRT_FUNCTION_AT(Error_Message, 1);
PJRT_FUNCTION_AT(Plugin_Initialize, 3);
PJRT_FUNCTION_AT(Event_Destroy, 5);
PJRT_FUNCTION_AT(Event_Await, 8);
PJRT_FUNCTION_AT(Client_Create, 10);
PJRT_FUNCTION_AT(Client_Destroy, 11);
PJRT_FUNCTION_AT(Client_PlatformName, 12);
PJRT_FUNCTION_AT(Client_AddressableDevices, 16);
PJRT_FUNCTION_AT(Client_Compile, 20);
PJRT_FUNCTION_AT(Client_BufferFromHostBuffer, 22);
PJRT_FUNCTION_AT(Executable_Destroy, 40);
PJRT_FUNCTION_AT(Executable_NumOutputs, 44);
PJRT_FUNCTION_AT(LoadedExecutable_Destroy, 50);
PJRT_FUNCTION_AT(LoadedExecutable_GetExecutable, 51);
PJRT_FUNCTION_AT(LoadedExecutable_Execute, 55);
PJRT_FUNCTION_AT(Buffer_Destroy, 58);
PJRT_FUNCTION_AT(Buffer_ElementType, 59);
PJRT_FUNCTION_AT(Buffer_Dimensions, 60);
PJRT_FUNCTION_AT(Buffer_ToHostBuffer, 70);

#undef PJRT_FUNCTION_AT
#undef PJRT_STRUCT_HEAD

constexpr std::size_t kPjrtFunctionsNeeded = FunctionAt<PJRT_Buffer_ToHostBuffer_Args>::value + 1;

#endif  // FROZEN_RUNNER_PJRT_API_H_
