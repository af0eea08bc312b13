/*
 * ubc: properties of the UMMU.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "ubc-pci.h"

void ubc_ummu_props_apply(const UbcUmmuProps *p, UbcConfig *c)
{
    c->ummu.strict = p->strict;
    c->ummu.positive = p->positive;
    c->ummu.lenient = p->lenient;
    c->ummu.stage2 = p->stage2;
    c->ummu.mapt_physical = p->mapt_physical;
}

static const struct {
    const char *name, *text;
} descriptions[] = {
    { "ummu-strict", "the UMMU's caches keep what they have until software "
                     "invalidates it" },
    { "ummu-positive", "Positive PLB: a TokenValue that does not match what is "
                       "cached is looked for in memory" },
    { "ummu-lenient", "tables of the UMMU as existing drivers write them, "
                      "where the document says otherwise" },
    { "ummu-stage2", "the UMMU has stage 2" },
    { "ummu-mapt-physical", "permission tables of nested TokenIDs have "
                            "physical addresses, which stage 2 does not "
                            "translate" },
};

void ubc_ummu_props_describe(ObjectClass *klass)
{
    for (unsigned i = 0; i < ARRAY_SIZE(descriptions); i++) {
        object_class_property_set_description(klass, descriptions[i].name,
                                              descriptions[i].text);
    }
}
