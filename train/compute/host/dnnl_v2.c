/* SPDX-License-Identifier: BSD-3-Clause
 * host/dnnl_v2.c - oneDNN 2: memory descriptors are structures, and a primitive is described in two
 * steps, by an operation descriptor first.
 */
#include "config.h"

#include <stdint.h>
#include <stdlib.h>

#include "train/compute/host/dnnl.h"

dnnl_status_t tw_md_create(tw_md_t *md_p, int ndims, const dnnl_dims_t dims, dnnl_format_tag_t tag)
{
    dnnl_memory_desc_t *md = malloc(sizeof(*md));
    dnnl_status_t       s;

    *md_p = NULL;
    if (md == NULL) {
        return dnnl_out_of_memory;
    }
    s = dnnl_memory_desc_init_by_tag(md, ndims, dims, dnnl_f32, tag);
    if (s != dnnl_success) {
        free(md);
        return s;
    }
    *md_p = md;
    return dnnl_success;
}

void tw_md_destroy(tw_md_t md)
{
    free((void *)(uintptr_t)md);
}

static dnnl_prop_kind_t forward_kind(const tw_describe_t *how)
{
    return how->training ? dnnl_forward_training : dnnl_forward_inference;
}

dnnl_status_t tw_conv_describe(dnnl_primitive_desc_t *desc_p, dnnl_engine_t engine,
                               const tw_describe_t *how, const tw_conv_form_t *form)
{
    dnnl_convolution_desc_t op;
    dnnl_status_t           s;

    switch (how->role) {
    case TW_FORWARD:
        s = dnnl_convolution_forward_desc_init(&op, forward_kind(how), dnnl_convolution_direct,
                                               form->x, form->w, form->b, form->y, form->stride,
                                               form->pad, form->pad);
        break;
    case TW_BACKWARD_DATA:
        s = dnnl_convolution_backward_data_desc_init(&op, dnnl_convolution_direct, form->x, form->w,
                                                     form->y, form->stride, form->pad, form->pad);
        break;
    default:
        s = dnnl_convolution_backward_weights_desc_init(&op, dnnl_convolution_direct, form->x,
                                                        form->w, form->b, form->y, form->stride,
                                                        form->pad, form->pad);
        break;
    }
    return s != dnnl_success
               ? s
               : dnnl_primitive_desc_create(desc_p, &op, how->attr, engine, how->hint);
}

dnnl_status_t tw_pool_describe(dnnl_primitive_desc_t *desc_p, dnnl_engine_t engine,
                               const tw_describe_t *how, const tw_pool_form_t *form)
{
    dnnl_pooling_desc_t op;
    dnnl_status_t       s;

    s = how->role == TW_FORWARD
            ? dnnl_pooling_forward_desc_init(&op, forward_kind(how), form->how, form->x, form->y,
                                             form->stride, form->kernel, form->pad, form->pad_end)
            : dnnl_pooling_backward_desc_init(&op, form->how, form->x, form->y, form->stride,
                                              form->kernel, form->pad, form->pad_end);
    return s != dnnl_success
               ? s
               : dnnl_primitive_desc_create(desc_p, &op, how->attr, engine, how->hint);
}

dnnl_status_t tw_lrn_describe(dnnl_primitive_desc_t *desc_p, dnnl_engine_t engine,
                              const tw_describe_t *how, const tw_lrn_form_t *form)
{
    dnnl_lrn_desc_t op;
    dnnl_status_t   s;

    s = how->role == TW_FORWARD
            ? dnnl_lrn_forward_desc_init(&op, forward_kind(how), dnnl_lrn_across_channels, form->x,
                                         form->size, form->alpha, form->beta, form->k)
            : dnnl_lrn_backward_desc_init(&op, dnnl_lrn_across_channels, form->x, form->x,
                                          form->size, form->alpha, form->beta, form->k);
    return s != dnnl_success
               ? s
               : dnnl_primitive_desc_create(desc_p, &op, how->attr, engine, how->hint);
}

dnnl_status_t tw_post_relu(dnnl_post_ops_t ops)
{
    return dnnl_post_ops_append_eltwise(ops, 1.0f, dnnl_eltwise_relu, 0.0f, 0.0f);
}
