/*
 * CFG1_CAP241 of each Entity: CIP as software sees it (docs/specs/ub-cip.rst).
 *
 * SELECT names a policy, a slot and a way; what a command needs is written to the
 * dwords before it, then the command, whose RESULT is there at once.  Dwords of keys
 * and IVs read 0, and are forgotten with any command, also one that fails.  This file is
 * for software, too: plain C, no includes.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef UB_CIP_HW_H
#define UB_CIP_HW_H

#define UB_CIP_CAP 241

/* Dwords of the slice. */
#define UB_CIP_HEADER 0
#define UB_CIP_LIMITS 1         /* RO: policies, slots, suites, log2 of window */
#define UB_CIP_LIMITS__POLICIES 0x000000ffu
#define UB_CIP_LIMITS__SLOTS 0x0000ff00u
#define UB_CIP_LIMITS__SUITES 0x00ff0000u /* bit n: suite n */
#define UB_CIP_LIMITS__WINDOW 0xff000000u
#define UB_CIP_CTRL 2           /* RW */
#define UB_CIP_CTRL__ON 1u      /* what is not sealed is dropped, and not sent */
#define UB_CIP_CTRL__MIXED 2u   /* but with peers that no policy is for */
#define UB_CIP_CTRL__MANAGER 4u /* and so is what the UBFM says and hears */
#define UB_CIP_SELECT 3         /* RW */
#define UB_CIP_SELECT__POLICY 0x000000ffu
#define UB_CIP_SELECT__SLOT 0x00000100u
#define UB_CIP_SELECT__TX 0x00000200u
#define UB_CIP_PEER_EID 4       /* RW: 4 dwords, least significant first */
#define UB_CIP_PEER_POLICY 8    /* RW: 23 bits */
#define UB_CIP_POLICY 9         /* RW */
#define UB_CIP_POLICY__SUITE 0x0000000fu
#define UB_CIP_POLICY__HIDE 0x00000010u
#define UB_CIP_POLICY__CLEAR 0x00000f00u /* dwords of the TAH that stay readable */
#define UB_CIP_IV 10            /* WO: 3 dwords, bytes in order of address */
#define UB_CIP_KEY 13           /* WO: 8 dwords, bytes in order of address */
#define UB_CIP_COMMAND 21       /* WO */
#define UB_CIP_CMD_SET_POLICY 1u   /* PEER_*, POLICY; its keys are erased */
#define UB_CIP_CMD_CLEAR_POLICY 2u
#define UB_CIP_CMD_SET_KEY 3u      /* KEY, IV into the slot of the way */
#define UB_CIP_CMD_ERASE_KEY 4u
#define UB_CIP_CMD_USE 5u          /* the policy sends by the slot */
#define UB_CIP_RESULT 22        /* RO: of the last command */
#define UB_CIP_R_OK 0u
#define UB_CIP_R_NO_POLICY 1u
#define UB_CIP_R_BAD_POLICY 2u
#define UB_CIP_R_NO_KEY 3u
#define UB_CIP_R_RX_FIRST 4u    /* the slot cannot receive yet */
#define UB_CIP_R_REUSED 5u      /* the Entity has, or had, this key and the
                                 * first 8 bytes of this IV */
#define UB_CIP_R_NO_COMMAND 6u
#define UB_CIP_R_INCOMPLETE 7u  /* not all of KEY and IV was written since the last
                                 * command, each dword as a whole */
#define UB_CIP_STATE 23         /* RO: of the policy that SELECT names */
#define UB_CIP_STATE__SET 0x01u
#define UB_CIP_STATE__RX_KEYED 0x06u  /* a bit for each slot */
#define UB_CIP_STATE__TX_KEYED 0x18u
#define UB_CIP_STATE__SENDS 0x20u     /* it has a slot to send by, */
#define UB_CIP_STATE__SENDS_BY 0x40u  /* which is this */
#define UB_CIP_SN 24            /* RO: of the slot that SELECT names: highest that
                                 * came, or the next; 0 of an empty one, all ones
                                 * of an exhausted one */
#define UB_CIP_USED 25

#endif
