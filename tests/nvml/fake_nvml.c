/*
 * A libnvidia-ml.so.1 without a GPU: it answers what a text file says, by the real library's rules.
 *
 * FAKE_NVML_FILE names the file, which is read anew whenever it changes. Each line is an answer:
 *
 *     KEY CODE VALUE          0.uuid 0 GPU-463a3c90-395e-49b8-b4d0-5c5f1091d6de
 *
 * KEY is the key of nvml.json, with the GPU's index before it and a number after it where the call
 * takes one (0.nvlink_state.17, 0.mig_devices.2.name). CODE is an nvmlReturn_t. A number that has
 * no line gets the CODE of the key's own line, which is how a list ends; a key without any line is
 * not supported. What each function does is written from NVIDIA's public reference:
 * https://docs.nvidia.com/deploy/nvml-api/
 *
 * An event is a line event.N 0 GPU TYPE DATA, the first N being 0: each is told once to each set that
 * asked for its type. While there is a line hang 0 SECONDS, every call waits for its end, so long.
 *
 * tests/nvml/library.py builds this and writes the file. With -DOLD_DRIVER the functions at the end
 * are missing, as they are from a library that is older than they are.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    SUCCESS = 0,
    UNINITIALIZED = 1,
    INVALID_ARGUMENT = 2,
    NOT_SUPPORTED = 3,
    INSUFFICIENT_SIZE = 7,
    ARGUMENT_VERSION_MISMATCH = 25,
    GPU_NOT_FOUND = 28,
    UNKNOWN = 999,
};

enum { INIT_FLAG_NO_GPUS = 1, WORD_BITS = 64, NO_ARGUMENT = -1, MOST_CPUS = 8192 };

/* A version in a struct's first field is its size with the number of its form on top. */
#define VERSION(type, number) (sizeof(type) | ((unsigned)(number) << 24))

typedef int result;
typedef struct device *device; /* never pointed at: it holds numbers, see encode() */

/* ---- the answers --------------------------------------------------------------------------- */

struct answer {
    const char *key;
    result code;
    const char *value;
};

/* Threads ask while it is read anew, as the real library is safe for threads: what was read before
 * stays where it is, and another table takes its place. */
struct table {
    size_t count;
    struct answer answers[];
};

static struct table *volatile table;
static pthread_mutex_t reading = PTHREAD_MUTEX_INITIALIZER;
static struct stat known;
static unsigned opened;
static pid_t opener;

static int by_key(const void *first, const void *second)
{
    return strcmp(((const struct answer *)first)->key, ((const struct answer *)second)->key);
}

/* Cut one line into an answer. */
static struct answer parse(char *line)
{
    struct answer answer = {.key = strsep(&line, " ")};
    const char *code = strsep(&line, " ");
    answer.code = code ? atoi(code) : UNKNOWN;
    answer.value = line ? line : "";
    return answer;
}

/* The text of the file that a descriptor is of, which is never written again once it is there. */
static char *slurp(int file, off_t size)
{
    char *text = calloc(1, (size_t)size + 1);
    if (read(file, text, (size_t)size) != size)
        abort();
    return text;
}

/* Read the file if it isn't the one that was read before. */
static void refresh_locked(void)
{
    struct stat now;
    const char *path = getenv("FAKE_NVML_FILE");
    /* Opened first: between a look at a path and a read of it, another file may take its place. */
    int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (file < 0 || fstat(file, &now) != 0)
        abort();
    if (table && now.st_ino == known.st_ino && now.st_size == known.st_size
        && now.st_mtim.tv_sec == known.st_mtim.tv_sec
        && now.st_mtim.tv_nsec == known.st_mtim.tv_nsec) {
        close(file);
        return;
    }
    known = now;
    char *content = slurp(file, now.st_size);
    close(file);
    size_t count = 0;
    for (const char *end = content; *end; end++)
        count += *end == '\n';
    struct table *fresh = calloc(1, sizeof *fresh + (count + 1) * sizeof fresh->answers[0]);
    char *rest = content;
    for (; fresh->count < count; fresh->count++)
        fresh->answers[fresh->count] = parse(strsep(&rest, "\n"));
    qsort(fresh->answers, count, sizeof fresh->answers[0], by_key);
    table = fresh;
}

static void refresh(void)
{
    pthread_mutex_lock(&reading);
    refresh_locked();
    pthread_mutex_unlock(&reading);
}

static const struct answer *find(const char *form, ...)
{
    char key[128];
    va_list rest;
    va_start(rest, form);
    vsnprintf(key, sizeof key, form, rest);
    va_end(rest);
    struct answer wanted = {.key = key};
    struct table *now = table;
    return bsearch(&wanted, now->answers, now->count, sizeof wanted, by_key);
}

static const struct answer not_supported = {"", NOT_SUPPORTED, ""};

/* ---- the library's state ------------------------------------------------------------------- */

/* What any call is answered with before it is looked at. A fork has no driver of its own. */
static result begin(void)
{
    if (opened == 0)
        return UNINITIALIZED;
    if (getpid() != opener)
        return UNKNOWN;
    refresh();
    for (unsigned waited = 0; find("hang") && waited < 100u * atoi(find("hang")->value); waited++) {
        usleep(10000);
        refresh();
    }
    return SUCCESS;
}

static unsigned gpu_count(void)
{
    const struct answer *count = find("gpus");
    return count && count->code == SUCCESS ? (unsigned)atoi(count->value) : 0;
}

result nvmlInitWithFlags(unsigned flags)
{
    refresh();
    const struct answer *init = find("init");
    if (init && init->code != SUCCESS)
        return init->code;
    if (gpu_count() == 0 && !(flags & INIT_FLAG_NO_GPUS))
        return GPU_NOT_FOUND;
    if (opened++ == 0)
        opener = getpid();
    return SUCCESS;
}

result nvmlShutdown(void)
{
    result code = begin();
    if (code == SUCCESS)
        opened--;
    return code;
}

/* ---- devices: a GPU's index plus one, and above it a MIG instance's index plus one ---------- */

static device encode(unsigned gpu, unsigned mig_plus_one)
{
    return (device)(uintptr_t)((gpu + 1) | mig_plus_one << 16);
}

static unsigned gpu_of(device handle)
{
    return ((unsigned)(uintptr_t)handle & 0xffff) - 1;
}

static unsigned mig_plus_one_of(device handle)
{
    return (unsigned)(uintptr_t)handle >> 16;
}

/* The answer to a call on a device, whose code is that of any rule which comes first. */
static struct answer ask(device handle, const char *call, int argument)
{
    struct answer refused = {"", begin(), ""};
    const struct answer *found = NULL;
    if (refused.code != SUCCESS)
        return refused;
    unsigned gpu = gpu_of(handle), mig = mig_plus_one_of(handle);
    refused.code = INVALID_ARGUMENT;
    if (handle == NULL || gpu >= gpu_count())
        return refused;
    if (mig)
        found = find("%u.mig_devices.%u.%s", gpu, mig - 1, call);
    else if (argument != NO_ARGUMENT)
        found = find("%u.%s.%d", gpu, call, argument);
    if (found == NULL && !mig)
        found = find("%u.%s", gpu, call);
    return found ? *found : not_supported;
}

static result put_number(struct answer answer, unsigned *out)
{
    if (answer.code != SUCCESS)
        return answer.code;
    if (out == NULL)
        return INVALID_ARGUMENT;
    *out = (unsigned)strtoll(answer.value, NULL, 10);
    return SUCCESS;
}

static result put_text(struct answer answer, char *out, unsigned size)
{
    if (answer.code != SUCCESS)
        return answer.code;
    if (out == NULL)
        return INVALID_ARGUMENT;
    if (strlen(answer.value) >= size)
        return INSUFFICIENT_SIZE;
    strcpy(out, answer.value);
    return SUCCESS;
}

static struct answer ask_system(const char *call)
{
    struct answer refused = {"", begin(), ""};
    if (refused.code != SUCCESS)
        return refused;
    const struct answer *found = find("%s", call);
    return found ? *found : not_supported;
}

result nvmlSystemGetDriverVersion(char *out, unsigned size)
{
    return put_text(ask_system("system.driver_version"), out, size);
}

result nvmlSystemGetNVMLVersion(char *out, unsigned size)
{
    return put_text(ask_system("system.nvml_version"), out, size);
}

result nvmlDeviceGetCount_v2(unsigned *out)
{
    return put_number(ask_system("gpus"), out);
}

result nvmlDeviceGetHandleByIndex_v2(unsigned gpu, device *out)
{
    struct answer answer = ask(encode(gpu, 0), "handle", NO_ARGUMENT);
    if (answer.code == SUCCESS)
        *out = encode(gpu, 0);
    return answer.code;
}

result nvmlDeviceGetMigDeviceHandleByIndex(device handle, unsigned mig, device *out)
{
    struct answer answer = ask(handle, "mig_devices", (int)mig);
    if (answer.code == SUCCESS)
        *out = encode(gpu_of(handle), mig + 1);
    return answer.code;
}

/* ---- numbers and texts --------------------------------------------------------------------- */

#define NUMBER(function, call)                                                                    \
    result function(device handle, unsigned *out)                                                 \
    {                                                                                             \
        return put_number(ask(handle, call, NO_ARGUMENT), out);                                   \
    }

#define NUMBER_OF_LINK(function, call)                                                            \
    result function(device handle, unsigned link, unsigned *out)                                  \
    {                                                                                             \
        return put_number(ask(handle, call, (int)link), out);                                     \
    }

#define TEXT(function, call)                                                                      \
    result function(device handle, char *out, unsigned size)                                      \
    {                                                                                             \
        return put_text(ask(handle, call, NO_ARGUMENT), out, size);                               \
    }

TEXT(nvmlDeviceGetUUID, "uuid")
TEXT(nvmlDeviceGetName, "name")
NUMBER(nvmlDeviceGetMinorNumber, "minor_number")
NUMBER(nvmlDeviceGetPersistenceMode, "persistence_mode")
NUMBER(nvmlDeviceGetMaxMigDeviceCount, "mig_count")
NUMBER(nvmlDeviceGetGpuInstanceId, "gpu_instance")
NUMBER(nvmlDeviceGetComputeInstanceId, "compute_instance")
NUMBER_OF_LINK(nvmlDeviceGetNvLinkState, "nvlink_state")
NUMBER_OF_LINK(nvmlDeviceGetNvLinkVersion, "nvlink_version")
NUMBER_OF_LINK(nvmlDeviceGetNvLinkRemoteDeviceType, "nvlink_remote_type")

result nvmlDeviceGetMigMode(device handle, unsigned *current, unsigned *pending)
{
    struct answer answer = ask(handle, "mig_mode", NO_ARGUMENT);
    if (answer.code == SUCCESS)
        sscanf(answer.value, "%u %u", current, pending);
    return answer.code;
}

struct memory {
    uint64_t total, available, used;
};

result nvmlDeviceGetMemoryInfo(device handle, struct memory *out)
{
    struct answer answer = ask(handle, "memory_bytes", NO_ARGUMENT);
    if (answer.code == SUCCESS)
        *out = (struct memory){.total = strtoull(answer.value, NULL, 10)};
    return answer.code;
}

/* ---- PCI: value "DDDDDDDD:BB:DD.0", from which the numbers and both texts are made ---------- */

struct pci {
    char legacy_bus_id[16];
    uint32_t domain, bus, device, device_id, subsystem_id;
    char bus_id[32];
};

static result put_pci(struct answer answer, struct pci *out)
{
    if (answer.code != SUCCESS)
        return answer.code;
    memset(out, 0, sizeof *out);
    sscanf(answer.value, "%x:%x:%x", &out->domain, &out->bus, &out->device);
    unsigned low = out->domain & 0xffff;
    snprintf(out->legacy_bus_id, sizeof out->legacy_bus_id, "%04X:%02X:%02X.0", low,
             out->bus & 0xff, out->device & 0xff);
    snprintf(out->bus_id, sizeof out->bus_id, "%s", answer.value);
    return SUCCESS;
}

result nvmlDeviceGetPciInfo_v3(device handle, struct pci *out)
{
    return put_pci(ask(handle, "pci", NO_ARGUMENT), out);
}

result nvmlDeviceGetNvLinkRemotePciInfo_v2(device handle, unsigned link, struct pci *out)
{
    return put_pci(ask(handle, "nvlink_remote_bus_id", (int)link), out);
}

/* ---- pairs --------------------------------------------------------------------------------- */

static result put_pair(device handle, device other, const char *call, unsigned *out)
{
    if (other == NULL)
        return INVALID_ARGUMENT;
    return put_number(ask(handle, call, (int)gpu_of(other)), out);
}

result nvmlDeviceGetTopologyCommonAncestor(device handle, device other, unsigned *out)
{
    return put_pair(handle, other, "common_ancestor", out);
}

result nvmlDeviceGetP2PStatus(device handle, device other, unsigned index, unsigned *out)
{
    static const char *const calls[] = {
        "p2p_read", "p2p_write", "p2p_nvlink", "p2p_atomics", "p2p_pci",
    };
    if (index >= sizeof calls / sizeof *calls)
        return INVALID_ARGUMENT;
    return put_pair(handle, other, calls[index], out);
}

/* ---- sets of ids: value "0-55,112-167" ------------------------------------------------------ */

/* Fill a mask, cut to the caller's CPUs if asked to. */
static result put_ids(struct answer answer, unsigned words, uint64_t *out, const cpu_set_t *own)
{
    if (answer.code != SUCCESS)
        return answer.code;
    if (words == 0 || out == NULL)
        return INVALID_ARGUMENT;
    memset(out, 0, words * sizeof *out);
    for (char *at = (char *)answer.value; *at >= '0' && *at <= '9';) {
        unsigned long first = strtoul(at, &at, 10), last = first;
        if (*at == '-')
            last = strtoul(at + 1, &at, 10);
        if (last >= (unsigned long)words * WORD_BITS) {
            const struct answer *small = find("small_mask");
            return small ? small->code : INSUFFICIENT_SIZE;
        }
        for (unsigned long id = first; id <= last; id++)
            if (own == NULL || CPU_ISSET_S(id, CPU_ALLOC_SIZE(MOST_CPUS), own))
                out[id / WORD_BITS] |= UINT64_C(1) << id % WORD_BITS;
        if (*at == ',')
            at++;
    }
    return SUCCESS;
}

result nvmlDeviceGetCpuAffinityWithinScope(device handle, unsigned words, uint64_t *out,
                                           unsigned scope)
{
    size_t size = CPU_ALLOC_SIZE(MOST_CPUS);
    cpu_set_t *own = calloc(1, size);
    sched_getaffinity(0, size, own);
    result code = put_ids(ask(handle, "cpu_affinity", (int)scope), words, out, own);
    free(own);
    return code;
}

/* ---- events -------------------------------------------------------------------------------- */

enum { TIMEOUT = 10, MOST_GPUS = 64, FIELD_RECOVERY_ACTION = 230, TYPE_UNSIGNED_INT = 1 };

struct event_set {
    unsigned next;
    unsigned long long types[MOST_GPUS];
};

struct event {
    device device;
    unsigned long long type, data;
    unsigned gpu_instance, compute_instance;
};

result nvmlEventSetCreate(struct event_set **out)
{
    result code = begin();
    if (code != SUCCESS)
        return code;
    *out = calloc(1, sizeof **out);
    while (find("event.%u", (*out)->next)) /* what was before it was made, it isn't told */
        (*out)->next++;
    return SUCCESS;
}

result nvmlEventSetFree(struct event_set *set)
{
    free(set);
    return begin();
}

result nvmlDeviceGetSupportedEventTypes(device handle, unsigned long long *out)
{
    struct answer answer = ask(handle, "event_types", NO_ARGUMENT);
    if (answer.code == SUCCESS)
        *out = strtoull(answer.value, NULL, 10);
    return answer.code;
}

result nvmlDeviceRegisterEvents(device handle, unsigned long long types, struct event_set *set)
{
    unsigned long long supported = 0;
    result code = nvmlDeviceGetSupportedEventTypes(handle, &supported);
    if (code != SUCCESS)
        return code;
    if (types & ~supported)
        return NOT_SUPPORTED;
    set->types[gpu_of(handle)] |= types;
    return SUCCESS;
}

result nvmlEventSetWait_v2(struct event_set *set, struct event *out, unsigned milliseconds)
{
    for (unsigned waited = 0; waited <= milliseconds; waited += 10) {
        result code = begin();
        const struct answer *told = find("event.%u", set->next);
        unsigned gpu = 0;
        if (code != SUCCESS)
            return code;
        if (told == NULL) {
            usleep(10000);
            continue;
        }
        set->next++;
        if (told->code != SUCCESS)
            return told->code;
        *out = (struct event){.gpu_instance = ~0u, .compute_instance = ~0u};
        sscanf(told->value, "%u %llu %llu", &gpu, &out->type, &out->data);
        out->device = encode(gpu, 0);
        if (set->types[gpu % MOST_GPUS] & out->type)
            return SUCCESS;
    }
    return TIMEOUT;
}

struct field {
    unsigned id, scope;
    long long timestamp, latency;
    unsigned type;
    result code;
    union {
        unsigned number;
        unsigned long long room;
    } value;
};

result nvmlDeviceGetFieldValues(device handle, int count, struct field *fields)
{
    struct answer answer = ask(handle, "recovery_action", NO_ARGUMENT);
    for (int at = 0; at < count; at++) {
        fields[at].type = TYPE_UNSIGNED_INT;
        fields[at].code = fields[at].id == FIELD_RECOVERY_ACTION ? answer.code : NOT_SUPPORTED;
        fields[at].value.number = (unsigned)strtoul(answer.value, NULL, 10);
    }
    return SUCCESS;
}

#ifndef OLD_DRIVER

result nvmlDeviceGetMemoryAffinity(device handle, unsigned words, uint64_t *out, unsigned scope)
{
    return put_ids(ask(handle, "memory_affinity", (int)scope), words, out, NULL);
}

/* ---- later functions, most with a struct that says its own version -------------------------- */

NUMBER(nvmlDeviceGetNumaNodeId, "numa_node_id")
NUMBER(nvmlDeviceGetC2cModeInfoV, "c2c_enabled")

struct addressing_mode {
    uint32_t version, value;
};

result nvmlDeviceGetAddressingMode(device handle, struct addressing_mode *out)
{
    if (out->version != VERSION(struct addressing_mode, 1))
        return ARGUMENT_VERSION_MISMATCH;
    return put_number(ask(handle, "addressing_mode", NO_ARGUMENT), &out->value);
}

struct fabric {
    uint8_t cluster_uuid[16];
    uint32_t status, clique_id;
    uint8_t state;
};

struct fabric_v2 {
    uint32_t version;
    uint8_t cluster_uuid[16];
    uint32_t status, clique_id;
    uint8_t state;
    uint32_t health_mask;
};

struct fabric_v3 {
    uint32_t version;
    uint8_t cluster_uuid[16];
    uint32_t status, clique_id;
    uint8_t state;
    uint32_t health_mask;
    uint8_t health_summary;
};

/* Value "STATE STATUS CLIQUE UUID", the UUID as 32 digits. Only the state's own byte is written. */
result nvmlDeviceGetGpuFabricInfo(device handle, struct fabric *out)
{
    struct answer answer = ask(handle, "fabric", NO_ARGUMENT);
    if (answer.code != SUCCESS)
        return answer.code;
    int digits = 0;
    sscanf(answer.value, "%hhu %u %u %n", &out->state, &out->status, &out->clique_id, &digits);
    for (int byte = 0; byte < 16; byte++)
        sscanf(answer.value + digits + 2 * byte, "%2hhx", &out->cluster_uuid[byte]);
    return SUCCESS;
}

/* The line fabric_form names the one form that the driver knows; without it, it knows the second
 * and the third. */
result nvmlDeviceGetGpuFabricInfoV(device handle, void *out)
{
    uint32_t version = *(uint32_t *)out;
    struct fabric found = {.state = 0};
    result code = begin();
    if (code != SUCCESS)
        return code;
    const struct answer *form = find("fabric_form");
    if (version != VERSION(struct fabric_v2, 2) && version != VERSION(struct fabric_v3, 3))
        return ARGUMENT_VERSION_MISMATCH;
    if (form && version >> 24 != (uint32_t)atoi(form->value))
        return ARGUMENT_VERSION_MISMATCH;
    code = nvmlDeviceGetGpuFabricInfo(handle, &found);
    if (code != SUCCESS)
        return code;
    struct fabric_v2 *known_part = out; /* the third form only adds to the second */
    memcpy(known_part->cluster_uuid, found.cluster_uuid, sizeof found.cluster_uuid);
    known_part->status = found.status;
    known_part->clique_id = found.clique_id;
    known_part->state = found.state;
    return SUCCESS;
}

#endif
