/* A library with the calls of CUDA's driver API that are used, and its rules as far as they matter.
 *
 * FAKE_CUDA_GPUS is a list of PCI ids, one for each GPU; FAKE_CUDA_FAIL is NAME:CODE of a call that
 * fails, or NAME:CODE:ORDINAL for one GPU; FAKE_CUDA_LOG is a file that gets the calls' names.
 * Copies are real, from memory that must be registered to memory that must be allocated.
 * https://docs.nvidia.com/cuda/cuda-driver-api/
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST 8
#define INVALID_VALUE 1
#define NOT_INITIALIZED 3
#define INVALID_DEVICE 101
#define INVALID_CONTEXT 201
#define NOT_REGISTERED 713

static int initialized, retained[MOST], current = -1;
static char *memory[MOST];
static size_t sizes[MOST];
static char *pinned;
static size_t pinned_size;

static int called(const char *name, int ordinal) {
    const char *log = getenv("FAKE_CUDA_LOG"), *fail = getenv("FAKE_CUDA_FAIL");
    char failing[64];
    int code, which = -1;
    if (log) {
        FILE *file = fopen(log, "a");
        if (file) {
            fprintf(file, "%s\n", name);
            fclose(file);
        }
    }
    if (fail && sscanf(fail, "%63[^:]:%d:%d", failing, &code, &which) >= 2 &&
        strcmp(failing, name) == 0 && (which < 0 || which == ordinal))
        return code;
    return initialized || strcmp(name, "cuInit") == 0 ? 0 : NOT_INITIALIZED;
}

static int count(void) {
    const char *ids = getenv("FAKE_CUDA_GPUS");
    int found = 0;
    for (; ids && *ids; ids++)
        found += *ids == ',';
    return getenv("FAKE_CUDA_GPUS") ? found + 1 : 0;
}

#define CHECK(ordinal)                          \
    do {                                        \
        int code = called(__func__, (ordinal)); \
        if (code)                               \
            return code;                        \
    } while (0)

int cuInit(unsigned flags) {
    CHECK(-1);
    initialized = 1;
    return flags == 0 ? 0 : INVALID_VALUE;
}

int cuGetErrorName(int code, const char **text) {
    switch (code) {
    case 2: *text = "CUDA_ERROR_OUT_OF_MEMORY"; return 0;
    case 100: *text = "CUDA_ERROR_NO_DEVICE"; return 0;
    case NOT_REGISTERED: *text = "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED"; return 0;
    default: return INVALID_VALUE;
    }
}

int cuDeviceGetCount(int *found) {
    CHECK(-1);
    *found = count();
    return 0;
}

int cuDeviceGet(int *device, int ordinal) {
    CHECK(ordinal);
    if (ordinal < 0 || ordinal >= count())
        return INVALID_DEVICE;
    *device = ordinal;
    return 0;
}

int cuDeviceGetPCIBusId(char *text, int length, int device) {
    char ids[256], *id, *rest = ids;
    CHECK(device);
    snprintf(ids, sizeof ids, "%s", getenv("FAKE_CUDA_GPUS"));
    for (id = strsep(&rest, ","); device > 0; device--)
        id = strsep(&rest, ",");
    snprintf(text, length, "%s", id);
    return 0;
}

int cuDevicePrimaryCtxRetain(void **context, int device) {
    CHECK(device);
    retained[device]++;
    *context = (void *)(intptr_t)(device + 1);
    return 0;
}

int cuDevicePrimaryCtxRelease_v2(int device) {
    CHECK(device);
    return retained[device]-- > 0 ? 0 : INVALID_CONTEXT;
}

int cuCtxSetCurrent(void *context) {
    CHECK((int)(intptr_t)context - 1);
    current = (int)(intptr_t)context - 1;
    return retained[current] ? 0 : INVALID_CONTEXT;
}

int cuCtxSynchronize(void) {
    CHECK(current);
    return current < 0 ? INVALID_CONTEXT : 0;
}

int cuMemAlloc_v2(uint64_t *address, size_t size) {
    CHECK(current);
    if (current < 0 || memory[current])
        return INVALID_VALUE;
    memory[current] = malloc(size);
    sizes[current] = size;
    *address = (uint64_t)(uintptr_t)memory[current];
    return 0;
}

int cuMemFree_v2(uint64_t address) {
    CHECK(current);
    if (current < 0 || (uint64_t)(uintptr_t)memory[current] != address)
        return INVALID_VALUE;
    free(memory[current]);
    memory[current] = NULL;
    return 0;
}

int cuMemHostRegister_v2(void *address, size_t size, unsigned flags) {
    CHECK(current);
    if (pinned || flags != 1)
        return INVALID_VALUE;
    pinned = address;
    pinned_size = size;
    return 0;
}

int cuMemHostUnregister(void *address) {
    CHECK(current);
    if (pinned != address)
        return NOT_REGISTERED;
    pinned = NULL;
    return 0;
}

static int copy(char *to, const char *from, uint64_t device, const char *host, size_t size) {
    if (current < 0 || (char *)(uintptr_t)device != memory[current] || size > sizes[current])
        return INVALID_VALUE;
    if (!pinned || host < pinned || host + size > pinned + pinned_size)
        return NOT_REGISTERED;
    memcpy(to, from, size);
    return 0;
}

int cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t size) {
    CHECK(current);
    return copy((char *)(uintptr_t)to, from, to, from, size);
}

int cuMemcpyDtoH_v2(void *to, uint64_t from, size_t size) {
    CHECK(current);
    return copy(to, (const char *)(uintptr_t)from, from, to, size);
}
