// SPDX-License-Identifier: Apache-2.0
// PJRT plugins, clients, programs and buffers as C++ objects that free themselves.

#ifndef FROZEN_RUNNER_PJRT_H_
#define FROZEN_RUNNER_PJRT_H_

#include <dlfcn.h>

#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include "arrays.h"
#include "pjrt_api.h"

// Arguments of a call, all zero. Plugins refuse structs shorter than they know, and accept longer
// ones; so the struct is followed by zeros, which mean "not given" in plugins newer than the header.
template <typename Args>
struct Zeroed {
  Args args{};
  std::uint64_t reserve[16]{};
  Zeroed() { args.struct_size = sizeof(Zeroed); }
  Args* operator->() { return &args; }
};

class Plugin {
 public:
  // Loads the plugin at `path`, a shared library. It stays loaded while the process runs.
  explicit Plugin(const std::string& path) {
    void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) throw std::runtime_error(dlerror());
    const auto get_api = reinterpret_cast<GetPjrtApiFunction*>(dlsym(library, "GetPjrtApi"));
    if (get_api == nullptr) throw std::runtime_error(path + " is no PJRT plugin: it has no GetPjrtApi");
    api_ = get_api();
    const PJRT_Api_Version& version = api_->pjrt_api_version;
    if (version.major_version != kPjrtMajorVersion || version.minor_version < kPjrtOldestMinorVersion ||
        api_->struct_size < sizeof(PJRT_Api) + kPjrtFunctionsNeeded * sizeof(void*)) {
      throw std::runtime_error(path + " has version " + version_text() + " of PJRT's interface; this program knows " +
                               std::to_string(kPjrtMajorVersion) + "." + std::to_string(kPjrtOldestMinorVersion) +
                               " and later ones of the same major version");
    }
    Zeroed<PJRT_Plugin_Initialize_Args> initialize;
    Call(initialize);
  }

  std::string version_text() const {
    const PJRT_Api_Version& version = api_->pjrt_api_version;
    return std::to_string(version.major_version) + "." + std::to_string(version.minor_version);
  }

  // Calls the function of these arguments. Throws the plugin's error.
  template <typename Args>
  void Call(Zeroed<Args>& zeroed) const {
    const auto function = reinterpret_cast<PJRT_Error* (*)(Args*)>(api_->functions[FunctionAt<Args>::value]);
    PJRT_Error* error = function(&zeroed.args);
    if (error == nullptr) return;
    Zeroed<PJRT_Error_Message_Args> message;
    message->error = error;
    CallVoid(message);
    const std::string text(message->message, message->message_size);
    Zeroed<PJRT_Error_Destroy_Args> destroy;
    destroy->error = error;
    CallVoid(destroy);
    throw std::runtime_error(std::string(FunctionAt<Args>::text) + ": " + text);
  }

  // Waits for an event, and frees it.
  void Await(PJRT_Event* event) const {
    if (event == nullptr) return;
    Zeroed<PJRT_Event_Await_Args> await;
    await->event = event;
    Zeroed<PJRT_Event_Destroy_Args> destroy;
    destroy->event = event;
    try {
      Call(await);
    } catch (...) {
      Call(destroy);
      throw;
    }
    Call(destroy);
  }

  // Returns an object that the plugin frees with the function of `Args` at the end.
  template <typename Args, typename Object>
  std::shared_ptr<Object> Owned(Object* object, Object* Args::*member) const {
    return std::shared_ptr<Object>(object, [plugin = *this, member](Object* each) {
      Zeroed<Args> destroy;
      destroy.args.*member = each;
      plugin.Call(destroy);
    });
  }

 private:
  template <typename Args>
  void CallVoid(Zeroed<Args>& zeroed) const {
    reinterpret_cast<void (*)(Args*)>(api_->functions[FunctionAt<Args>::value])(&zeroed.args);
  }

  const PJRT_Api* api_;
};

using Buffer = std::shared_ptr<PJRT_Buffer>;

// A client of a plugin, and its first device.
class Client {
 public:
  explicit Client(const Plugin& plugin) : plugin_(plugin) {
    Zeroed<PJRT_Client_Create_Args> create;
    plugin_.Call(create);
    client_ = plugin_.Owned(create->client, &PJRT_Client_Destroy_Args::client);
    Zeroed<PJRT_Client_PlatformName_Args> name;
    name->client = client_.get();
    plugin_.Call(name);
    platform_.assign(name->platform_name, name->platform_name_size);
    Zeroed<PJRT_Client_AddressableDevices_Args> devices;
    devices->client = client_.get();
    plugin_.Call(devices);
    if (devices->num_addressable_devices == 0) throw std::runtime_error("the plugin has no device");
    device_ = devices->addressable_devices[0];
  }

  const Plugin& plugin() const { return plugin_; }
  const std::string& platform() const { return platform_; }

  // Copies an array to the device.
  Buffer Put(const Array& array) const {
    Zeroed<PJRT_Client_BufferFromHostBuffer_Args> put;
    put->client = client_.get();
    put->data = array.data.data();
    put->type = array.type->pjrt;
    put->dims = array.shape.data();
    put->num_dims = array.shape.size();
    put->host_buffer_semantics = PJRT_HostBufferSemantics_kImmutableOnlyDuringCall;
    put->device = device_;
    plugin_.Call(put);
    const Buffer buffer = plugin_.Owned(put->buffer, &PJRT_Buffer_Destroy_Args::buffer);
    plugin_.Await(put->done_with_host_buffer);
    return buffer;
  }

  // Copies an array from the device.
  Array Get(const Buffer& buffer) const {
    Zeroed<PJRT_Buffer_ElementType_Args> type;
    type->buffer = buffer.get();
    plugin_.Call(type);
    Zeroed<PJRT_Buffer_Dimensions_Args> dimensions;
    dimensions->buffer = buffer.get();
    plugin_.Call(dimensions);
    Array array{&ElementTypeWhere(&ElementType::pjrt, type->type),
                {dimensions->dims, dimensions->dims + dimensions->num_dims},
                {}};
    array.data.resize(ByteSize(*array.type, array.shape));

    std::vector<std::int64_t> minor_to_major(array.shape.size());
    std::iota(minor_to_major.rbegin(), minor_to_major.rend(), 0);  // row-major
    Zeroed<PJRT_Buffer_MemoryLayout> layout;
    layout->type = PJRT_Buffer_MemoryLayout_Type_Tiled;
    layout->tiled.struct_size = sizeof layout->tiled;
    layout->tiled.minor_to_major = minor_to_major.data();
    layout->tiled.minor_to_major_size = minor_to_major.size();
    Zeroed<PJRT_Buffer_ToHostBuffer_Args> get;
    get->src = buffer.get();
    get->host_layout = &layout.args;
    get->dst = array.data.data();
    get->dst_size = array.data.size();
    plugin_.Call(get);
    plugin_.Await(get->event);
    return array;
  }

 private:
  friend class Program;
  Plugin plugin_;
  std::shared_ptr<PJRT_Client> client_;
  std::string platform_;
  PJRT_Device* device_;
};

// A compiled program for one device.
class Program {
 public:
  // Compiles StableHLO with the options, a serialized CompileOptionsProto.
  Program(const Client& client, const std::string& module, const std::string& options) : client_(client) {
    const std::string format = "mlir";
    Zeroed<PJRT_Program> program;
    program->code = module.data();
    program->code_size = module.size();
    program->format = format.data();
    program->format_size = format.size();
    Zeroed<PJRT_Client_Compile_Args> compile;
    compile->client = client_.client_.get();
    compile->program = &program.args;
    compile->compile_options = options.data();
    compile->compile_options_size = options.size();
    client_.plugin().Call(compile);
    executable_ = client_.plugin().Owned(compile->executable, &PJRT_LoadedExecutable_Destroy_Args::executable);

    Zeroed<PJRT_LoadedExecutable_GetExecutable_Args> unloaded;
    unloaded->loaded_executable = executable_.get();
    client_.plugin().Call(unloaded);
    const auto facts = client_.plugin().Owned(unloaded->executable, &PJRT_Executable_Destroy_Args::executable);
    Zeroed<PJRT_Executable_NumOutputs_Args> outputs;
    outputs->executable = facts.get();
    client_.plugin().Call(outputs);
    output_count_ = outputs->num_outputs;
  }

  // Runs the program.
  std::vector<Buffer> Run(const std::vector<Buffer>& arguments) const {
    std::vector<PJRT_Buffer*> inputs, outputs(output_count_);
    for (const Buffer& each : arguments) inputs.push_back(each.get());
    PJRT_Buffer* const* input_list = inputs.data();
    PJRT_Buffer** output_list = outputs.data();
    PJRT_Event* done = nullptr;
    Zeroed<PJRT_ExecuteOptions> options;
    Zeroed<PJRT_LoadedExecutable_Execute_Args> execute;
    execute->executable = executable_.get();
    execute->options = &options.args;
    execute->argument_lists = &input_list;
    execute->num_devices = 1;
    execute->num_args = inputs.size();
    execute->output_lists = &output_list;
    execute->device_complete_events = &done;
    client_.plugin().Call(execute);
    std::vector<Buffer> results;
    for (PJRT_Buffer* each : outputs) {
      results.push_back(client_.plugin().Owned(each, &PJRT_Buffer_Destroy_Args::buffer));
    }
    client_.plugin().Await(done);
    return results;
  }

 private:
  Client client_;
  std::shared_ptr<PJRT_LoadedExecutable> executable_;
  std::size_t output_count_;
};

#endif  // FROZEN_RUNNER_PJRT_H_
