/*
 * ubc: memory of its Entities, which is a memory backend's.  No processor sees it;
 * it is migrated with the machine's.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "migration/vmstate.h"
#include "system/hostmem.h"
#include "ubc-pci.h"

bool ubc_pci_memory_find(UbcPci *s, unsigned entity, const char *id,
                         Error **errp)
{
    Object *obj = object_resolve_path_type(id, TYPE_MEMORY_BACKEND, NULL);
    HostMemoryBackend *b;

    if (!obj) {
        error_setg(errp, "entities: there is no memory backend '%s'", id);
        return false;
    }
    b = MEMORY_BACKEND(obj);
    if (host_memory_backend_is_mapped(b)) {
        error_setg(errp, "entities: memory backend '%s' is in use", id);
        return false;
    }
    for (unsigned i = 0; i < entity; i++) {
        if (s->memory[i] == b) {
            error_setg(errp, "entities: memory backend '%s' is there twice", id);
            return false;
        }
    }
    s->memory[entity] = b;
    s->cfg.entity_mem[entity] =
        memory_region_size(host_memory_backend_get_memory(b));
    return true;
}

void ubc_pci_memory_take(UbcPci *s)
{
    for (unsigned i = 0; i < UBC_MAX_ENTITIES; i++) {
        if (s->memory[i]) {
            object_ref(OBJECT(s->memory[i]));
            host_memory_backend_set_mapped(s->memory[i], true);
            vmstate_register_ram(host_memory_backend_get_memory(s->memory[i]),
                                 DEVICE(s));
        }
    }
}

void ubc_pci_memory_leave(UbcPci *s)
{
    for (unsigned i = 0; i < UBC_MAX_ENTITIES; i++) {
        if (s->memory[i]) {
            vmstate_unregister_ram(host_memory_backend_get_memory(s->memory[i]),
                                   DEVICE(s));
            host_memory_backend_set_mapped(s->memory[i], false);
            object_unref(OBJECT(s->memory[i]));
            s->memory[i] = NULL;
        }
    }
}

void ubc_pci_memory(void *opaque, unsigned entity, uint64_t at, void *buf,
                    uint32_t len, bool write)
{
    UbcPci *s = opaque;
    MemoryRegion *mr = host_memory_backend_get_memory(s->memory[entity]);
    uint8_t *p = (uint8_t *)memory_region_get_ram_ptr(mr) + at;

    if (write) {
        memcpy(p, buf, len);
        memory_region_set_dirty(mr, at, len);
    } else {
        memcpy(buf, p, len);
    }
}
