/* SPDX-License-Identifier: BSD-3-Clause
 * compute/checks.c - what every backend refuses of a layer.
 */
#include "config.h"

#include "train/compute/backend_ops.h"

int tw_layer_check(const tw_network_layer_t *layer, tw_shape_t want, const tw_tensor_t *x,
                   tw_problem_t *problem)
{
    const tw_shape_t is = x->shape;

    if (is.c == want.c && is.h == want.h && is.w == want.w) {
        return 0;
    }
    return tw_problem_set(problem, "layer %s takes %zu x %zu x %zu, not %zu x %zu x %zu",
                          layer->name, want.c, want.h, want.w, is.c, is.h, is.w);
}

int tw_layer_check_windows(const tw_network_layer_t *layer, tw_problem_t *problem)
{
    const size_t in[2] = {layer->in.h, layer->in.w}, out[2] = {layer->out.h, layer->out.w};

    for (int i = 0; i < 2; i++) {
        if ((out[i] - 1) * layer->stride[i] >= in[i] + layer->pad[i] ||
            layer->pad[i] >= layer->kernel[i]) {
            return tw_problem_set(problem, "layer %s has a window outside of the image",
                                  layer->name);
        }
    }
    return 0;
}

int tw_layer_check_lrn(const tw_network_layer_t *layer, tw_problem_t *problem)
{
    return layer->lrn_size % 2 == 1
               ? 0
               : tw_problem_set(problem, "layer %s: a window of %zu channels; it must be odd",
                                layer->name, layer->lrn_size);
}

int tw_layer_check_shortcut(const tw_network_layer_t *layer, const tw_tensor_t *x2,
                            tw_problem_t *problem)
{
    const tw_shape_t in = x2->shape, out = layer->out;

    if (layer->stride[0] == 0 || layer->stride[1] == 0 || in.c > out.c ||
        (in.h - 1) / layer->stride[0] + 1 != out.h || (in.w - 1) / layer->stride[1] + 1 != out.w) {
        return tw_problem_set(problem,
                              "layer %s adds %zu x %zu x %zu to %zu x %zu x %zu by a stride of "
                              "%zu x %zu, which does not fit",
                              layer->name, in.c, in.h, in.w, out.c, out.h, out.w, layer->stride[0],
                              layer->stride[1]);
    }
    if (layer->activation == TW_LOGISTIC) {
        return tw_problem_set(problem, "layer %s: a sum may be linear or rectified", layer->name);
    }
    return 0;
}
