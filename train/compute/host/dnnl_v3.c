/* SPDX-License-Identifier: BSD-3-Clause
 * host/dnnl_v3.c - oneDNN 3: memory descriptors are opaque, and a primitive is described at once.
 */
#include "config.h"

#include <stdint.h>

#include "train/compute/host/dnnl.h"

static const dnnl_dims_t dense = {0, 0}; /* no dilation */

dnnl_status_t tw_md_create(tw_md_t *md_p, int ndims, const dnnl_dims_t dims, dnnl_format_tag_t tag)
{
    dnnl_memory_desc_t md = NULL;
    dnnl_status_t      s  = dnnl_memory_desc_create_with_tag(&md, ndims, dims, dnnl_f32, tag);

    *md_p = s == dnnl_success ? md : NULL;
    return s;
}

void tw_md_destroy(tw_md_t md)
{
    if (md != NULL) {
        (void)dnnl_memory_desc_destroy((dnnl_memory_desc_t)(uintptr_t)md);
    }
}

static dnnl_prop_kind_t forward_kind(const tw_describe_t *how)
{
    return how->training ? dnnl_forward_training : dnnl_forward_inference;
}

dnnl_status_t tw_conv_describe(dnnl_primitive_desc_t *desc_p, dnnl_engine_t engine,
                               const tw_describe_t *how, const tw_conv_form_t *form)
{
    switch (how->role) {
    case TW_FORWARD:
        return dnnl_convolution_forward_primitive_desc_create(
            desc_p, engine, forward_kind(how), dnnl_convolution_direct, form->x, form->w, form->b,
            form->y, form->stride, dense, form->pad, form->pad, how->attr);
    case TW_BACKWARD_DATA:
        return dnnl_convolution_backward_data_primitive_desc_create(
            desc_p, engine, dnnl_convolution_direct, form->x, form->w, form->y, form->stride, dense,
            form->pad, form->pad, how->hint, how->attr);
    default:
        return dnnl_convolution_backward_weights_primitive_desc_create(
            desc_p, engine, dnnl_convolution_direct, form->x, form->w, form->b, form->y,
            form->stride, dense, form->pad, form->pad, how->hint, how->attr);
    }
}

dnnl_status_t tw_pool_describe(dnnl_primitive_desc_t *desc_p, dnnl_engine_t engine,
                               const tw_describe_t *how, const tw_pool_form_t *form)
{
    if (how->role == TW_FORWARD) {
        return dnnl_pooling_forward_primitive_desc_create(
            desc_p, engine, forward_kind(how), form->how, form->x, form->y, form->stride,
            form->kernel, dense, form->pad, form->pad_end, how->attr);
    }
    return dnnl_pooling_backward_primitive_desc_create(desc_p, engine, form->how, form->x, form->y,
                                                       form->stride, form->kernel, dense, form->pad,
                                                       form->pad_end, how->hint, how->attr);
}

dnnl_status_t tw_lrn_describe(dnnl_primitive_desc_t *desc_p, dnnl_engine_t engine,
                              const tw_describe_t *how, const tw_lrn_form_t *form)
{
    if (how->role == TW_FORWARD) {
        return dnnl_lrn_forward_primitive_desc_create(
            desc_p, engine, forward_kind(how), dnnl_lrn_across_channels, form->x, form->x,
            form->size, form->alpha, form->beta, form->k, how->attr);
    }
    return dnnl_lrn_backward_primitive_desc_create(
        desc_p, engine, dnnl_lrn_across_channels, form->x, form->x, form->x, form->size,
        form->alpha, form->beta, form->k, how->hint, how->attr);
}

dnnl_status_t tw_post_relu(dnnl_post_ops_t ops)
{
    return dnnl_post_ops_append_eltwise(ops, dnnl_eltwise_relu, 0.0f, 0.0f);
}
