/*
 * UB links of an emulator that has no UB controllers.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qapi/qapi-commands-ub.h"
#include "qapi/type-helpers.h"

UbLinkInfoList *qmp_query_ub_links(Error **errp)
{
    return NULL;
}

HumanReadableText *qmp_x_query_ub_links(Error **errp)
{
    g_autoptr(GString) buf = g_string_new("");

    return human_readable_text_from_str(buf);
}

UbLaneFaultsList *qmp_query_ub_faults(Error **errp)
{
    return NULL;
}

void qmp_ub_inject(const char *device, bool has_port, uint8_t port,
                   uint8_t lane, bool has_ber, double ber, bool has_burst,
                   uint16_t burst, bool has_lose_amctl, uint32_t lose_amctl,
                   bool has_skew, uint16_t skew, bool has_slip, uint8_t slip,
                   bool has_invert, bool invert, bool has_cut, bool cut,
                   bool has_seed, uint64_t seed, Error **errp)
{
    error_setg(errp, "there are no UB controllers here");
}

void qmp_ub_inject_map(const char *device, bool has_port, uint8_t port,
                       uint8List *map, Error **errp)
{
    error_setg(errp, "there are no UB controllers here");
}

UbEthernetInfoList *qmp_query_ub_ethernet(Error **errp)
{
    return NULL;
}

UbManagementInfoList *qmp_query_ub_management(Error **errp)
{
    return NULL;
}

UbSlotInfoList *qmp_query_ub_slots(Error **errp)
{
    return NULL;
}

void qmp_ub_slot_button(const char *device, uint8_t slot, Error **errp)
{
    error_setg(errp, "there are no UB controllers here");
}

void qmp_ub_slot_insert(const char *device, uint8_t slot, bool has_surprise,
                        bool surprise, Error **errp)
{
    error_setg(errp, "there are no UB controllers here");
}

void qmp_ub_slot_remove(const char *device, uint8_t slot, bool has_surprise,
                        bool surprise, Error **errp)
{
    error_setg(errp, "there are no UB controllers here");
}

UbEngineInfoList *qmp_query_ub_engines(Error **errp)
{
    return NULL;
}

HumanReadableText *qmp_x_query_ub_engines(Error **errp)
{
    g_autoptr(GString) buf = g_string_new("");

    return human_readable_text_from_str(buf);
}

UbUmmuInfoList *qmp_query_ub_ummu(Error **errp)
{
    return NULL;
}

UbTranslation *qmp_ub_translate(const char *device, uint64_t address,
                                bool has_length, uint32_t length,
                                bool has_access, UbMemoryAccess access,
                                bool has_token_id, uint32_t token_id,
                                bool has_token_value, uint32_t token_value,
                                const char *eid, bool has_tag, uint16_t tag,
                                bool has_bare, bool bare, bool has_exclusive,
                                bool exclusive, bool has_tee, bool tee,
                                bool has_local, bool local, Error **errp)
{
    error_setg(errp, "there are no UB controllers here");
    return NULL;
}

void qmp_ub_packet_faults(const char *device, bool out,
                          UbPacketFaultPlan *plan, Error **errp)
{
    error_setg(errp, "there are no UB controllers here");
}

void qmp_ub_route_shortest(const char *device, uint32_t cna, uint64_t ports,
                           Error **errp)
{
    error_setg(errp, "there are no UB controllers here");
}

UbJettysInfoList *qmp_query_ub_jettys(const char *device, bool has_number,
                                      uint32_t number, Error **errp)
{
    return NULL;
}
