/* SPDX-License-Identifier: BSD-3-Clause
 * base/descriptor.h - what whoever waits may sleep on: a descriptor that poll(2) finds readable
 * once something may have moved, or one of these.
 */
#ifndef TW_BASE_DESCRIPTOR_H
#define TW_BASE_DESCRIPTOR_H

#define TW_DESCRIPTOR_NONE  (-1) /* look from time to time */
#define TW_DESCRIPTOR_AGAIN (-2) /* something has moved meanwhile: look once more */

#endif /* TW_BASE_DESCRIPTOR_H */
