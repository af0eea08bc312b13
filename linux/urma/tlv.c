// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Attributes of a command to and from its structure.
 */
#include "tlv.h"

#ifndef __KERNEL__
static unsigned long copy_from_user(void *to, const void *from, size_t n)
{
	return from ? (memcpy(to, from, n), 0) : n;
}

static unsigned long copy_to_user(void *to, const void *from, size_t n)
{
	return to ? (memcpy(to, from, n), 0) : n;
}
#endif

static u32 attr_count(const struct urma_attr *a)
{
	return a->elements & 0xfff;
}

static u32 attr_stride(const struct urma_attr *a)
{
	return a->elements >> 12 & 0xfff;
}

static const struct urma_attr *attr_find(const struct urma_attr *attr, u32 n,
					 u8 type)
{
	for (; n; n--, attr++)
		if (attr->type == type)
			return attr;
	return NULL;
}

static bool is_output(const struct urma_field *f)
{
	return f->type >= URMA_ATTR_OUT;
}

/* A plain field may say count 1 or 0; strides do not go backwards over what
 * comes next to them. */
static bool attr_fits(const struct urma_attr *a, const struct urma_field *f)
{
	u32 want = f->count ? f->count : 1;
	u32 count = attr_count(a) ? attr_count(a) : 1;

	if (a->size != f->size || a->elements >> 24)
		return false;
	if (is_output(f) ? count < want : count != want)
		return false;
	return want == 1 || attr_stride(a) >= f->size;
}

int urma_tlv_length(u32 bytes, u32 max)
{
	if (!bytes || bytes > 4096)
		return -EINVAL;
	if (bytes % sizeof(struct urma_attr) ||
	    bytes >= max * sizeof(struct urma_attr))
		return -ENOMEM;
	return 0;
}

int urma_tlv_get(const struct urma_spec *spec, const struct urma_attr *attr,
		 u32 n, void *args)
{
	const struct urma_attr *a;
	u32 i, e;

	for (i = 0; i < spec->fields; i++) {
		const struct urma_field *f = &spec->field[i];

		a = attr_find(attr, n, f->type);
		if (!a || !attr_fits(a, f))
			return -EINVAL;
		for (e = 0; !is_output(f) && e < (f->count ? f->count : 1); e++)
			if (copy_from_user((u8 *)args + f->at + e * f->stride,
					   u64_to_user_ptr(a->data +
							   e * attr_stride(a)),
					   f->size))
				return -EFAULT;
	}
	return 0;
}

int urma_tlv_put(const struct urma_spec *spec, const struct urma_attr *attr,
		 u32 n, const void *args)
{
	const struct urma_attr *a;
	u32 i, e;

	for (i = 0; i < spec->fields; i++) {
		const struct urma_field *f = &spec->field[i];

		a = is_output(f) ? attr_find(attr, n, f->type) : NULL;
		for (e = 0; a && e < (f->count ? f->count : 1); e++)
			if (copy_to_user(u64_to_user_ptr(a->data +
							 e * attr_stride(a)),
					 (const u8 *)args + f->at +
						 e * f->stride, f->size))
				return -EFAULT;
	}
	return 0;
}
