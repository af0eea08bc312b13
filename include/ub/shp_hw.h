/*
 * Registers of hot-plug slots, CFG0_CAP2_SHP (UB 2.0 §D.2.1), whose number is the
 * device's: dwords from the base of the slice.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef UB_SHP_HW_H
#define UB_SHP_HW_H

/* Slots that fit between this slice and the next one. */
#define UB_SHP_SLOTS 15

/* Dwords of the slice. */
#define UB_SHP_USED(slots) (2 + 0x10 * (slots))
/* A register of slot @n. */
#define UB_SHP_REG(n, reg) (0x10 * (n) + (reg))

enum {
    UB_SHP_CAPABILITY = 0x2,
    UB_SHP_PORTS = 0x3,
    UB_SHP_PP_CTRL = 0x4,  /* the button is heard */
    UB_SHP_WL_CTRL = 0x5,  /* LED of the working state */
    UB_SHP_PL_CTRL = 0x6,  /* LED of the power */
    UB_SHP_MS_CTRL = 0x7,  /* messages are sent to the UBFM */
    UB_SHP_PD_CTRL = 0x8,  /* presence is detected */
    UB_SHP_PDS_CTRL = 0x9, /* and its changes are */
    UB_SHP_PW_CTRL = 0xa,  /* power */
    UB_SHP_PP_ST = 0xb,    /* the button was pressed */
    UB_SHP_PD_ST = 0xc,    /* a device is present */
    UB_SHP_PDSC_ST = 0xd,  /* that has changed */
};

/* UB_SHP_CAPABILITY. */
#define UB_SHP_CAP_BUTTON 0x1u
#define UB_SHP_CAP_WORK_LED 0x2u
#define UB_SHP_CAP_POWER_LED 0x4u
#define UB_SHP_CAP_PRESENCE 0x8u
#define UB_SHP_CAP_POWER 0x10u
#define UB_SHP_CAP_ALL 0x1fu

/* UB_SHP_PORTS. */
#define UB_SHP_PORTS__FIRST 0x0000ffffu
#define UB_SHP_PORTS__LAST 0xffff0000u

/* UB_SHP_WL_CTRL, UB_SHP_PL_CTRL: what a LED does (tables G-2 and G-3). */
enum {
    UB_SHP_LED_OFF,   /* in normal use; no power */
    UB_SHP_LED_ON,    /* stopped or faulty; power: do not touch */
    UB_SHP_LED_BLINK, /* may be taken out; something is under way: do not touch */
    UB_SHP_LED_RESERVED,
};

#endif
