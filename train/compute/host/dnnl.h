/* SPDX-License-Identifier: BSD-3-Clause
 * host/dnnl.h - the calls of oneDNN's C API that differ between versions 2 and 3: memory
 * descriptors, and how a primitive is described. dnnl_v2.c and dnnl_v3.c implement them, configure
 * chooses; everything else is the same text for both.
 */
#ifndef TW_HOST_DNNL_H
#define TW_HOST_DNNL_H

#include <dnnl.h>

/* A memory descriptor to read: what both versions' queries give and their calls take. */
#if DNNL_VERSION_MAJOR >= 3
typedef const_dnnl_memory_desc_t tw_md_t;
#else
typedef const dnnl_memory_desc_t *tw_md_t;
#endif

typedef enum tw_role { TW_FORWARD, TW_BACKWARD_DATA, TW_BACKWARD_WEIGHTS } tw_role_t;

/* What all descriptions have: which way, and for backward the forward one as a hint. */
typedef struct tw_describe {
    tw_role_t                   role;
    int                         training;
    const_dnnl_primitive_attr_t attr;
    const_dnnl_primitive_desc_t hint; /* NULL forward */
} tw_describe_t;

/* x and y stand for their gradients in backward roles, as they do in oneDNN. */
typedef struct tw_conv_form {
    tw_md_t     x, w, b /* NULL: none */, y;
    dnnl_dims_t stride, pad;
} tw_conv_form_t;

typedef struct tw_pool_form {
    dnnl_alg_kind_t how;
    tw_md_t         x, y;
    dnnl_dims_t     kernel, stride, pad, pad_end;
} tw_pool_form_t;

typedef struct tw_lrn_form {
    tw_md_t    x; /* and y */
    dnnl_dim_t size;
    float      alpha, beta, k;
} tw_lrn_form_t;

/* A float32 descriptor, for the caller to destroy. */
dnnl_status_t tw_md_create(tw_md_t *md_p, int ndims, const dnnl_dims_t dims, dnnl_format_tag_t tag);
void          tw_md_destroy(tw_md_t md); /* NULL is allowed */

dnnl_status_t tw_conv_describe(dnnl_primitive_desc_t *desc_p, dnnl_engine_t engine,
                               const tw_describe_t *how, const tw_conv_form_t *form);
dnnl_status_t tw_pool_describe(dnnl_primitive_desc_t *desc_p, dnnl_engine_t engine,
                               const tw_describe_t *how, const tw_pool_form_t *form);
dnnl_status_t tw_lrn_describe(dnnl_primitive_desc_t *desc_p, dnnl_engine_t engine,
                              const tw_describe_t *how, const tw_lrn_form_t *form);

/* y = max(y, 0) after the primitive. */
dnnl_status_t tw_post_relu(dnnl_post_ops_t ops);

#endif /* TW_HOST_DNNL_H */
