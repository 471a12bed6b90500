#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Images per second of other loaders, one worker each: what bench/loader.sh compares with.

    python3 bench/loader_peers.py FOLDER [--seconds S] [--batch N] [torchvision|dali...]

FOLDER has a folder of JPEG files per class. Each image: shorter side to 256, a random crop of 224x224, mirror,
mean and deviation, as float32 in planes. torchvision: a DataLoader with one worker process, whose processor time is
measured too; dali: a pipeline on the processor (device_id None) with one thread. Prints "NAME: X images/s, Y images per
second of processor time".
"""
import argparse
import os
import time

MEAN, DEVIATION = (124.0, 116.0, 104.0), (58.0, 57.0, 57.0)


def processor_seconds(pids):
    """User and system time of processes, by /proc."""
    ticks = 0
    for pid in pids:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def torchvision_loader(folder, seconds, batch):
    import torch
    from torchvision import datasets, transforms

    torch.set_num_threads(1)
    steps = transforms.Compose([
        transforms.Resize(256), transforms.RandomCrop(224), transforms.RandomHorizontalFlip(), transforms.ToTensor(),
        transforms.Normalize([m / 255 for m in MEAN], [d / 255 for d in DEVIATION])])
    data = datasets.ImageFolder(folder, steps)
    loader = torch.utils.data.DataLoader(data, batch, shuffle=True, num_workers=1, persistent_workers=True,
                                         prefetch_factor=3)
    images, begun, busy = 0, None, 0.0
    while begun is None or time.monotonic() - begun < seconds:
        batches = iter(loader)
        pids = [worker.pid for worker in batches._workers]
        for pixels, _ in batches:
            images += len(pixels)
        if begun is None:  # the first epoch starts the worker
            images, begun, busy = 0, time.monotonic(), processor_seconds(pids)
    return images, time.monotonic() - begun, processor_seconds(pids) - busy


def dali_loader(folder, seconds, batch):
    from nvidia.dali import fn, pipeline_def, types

    @pipeline_def(batch_size=batch, num_threads=1, device_id=None, prefetch_queue_depth=3)
    def pipeline():
        files, labels = fn.readers.file(file_root=folder, random_shuffle=True)
        pixels = fn.decoders.image(files, device="cpu", output_type=types.RGB)
        pixels = fn.resize(pixels, resize_shorter=256)
        return fn.crop_mirror_normalize(
            pixels, dtype=types.FLOAT, output_layout="CHW", crop=(224, 224), mean=list(MEAN), std=list(DEVIATION),
            crop_pos_x=fn.random.uniform(range=(0, 1)), crop_pos_y=fn.random.uniform(range=(0, 1)),
            mirror=fn.random.coin_flip()), labels

    pipe = pipeline()
    pipe.build()
    for _ in range(10):
        pipe.run()
    images, begun, busy = 0, time.monotonic(), time.process_time()
    while time.monotonic() - begun < seconds:
        pipe.run()
        images += batch
    return images, time.monotonic() - begun, time.process_time() - busy


LOADERS = {"torchvision": torchvision_loader, "dali": dali_loader}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("folder")
    parser.add_argument("loader", nargs="*", default=list(LOADERS))
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--batch", type=int, default=32)
    options = parser.parse_args()
    for name in options.loader:
        images, seconds, busy = LOADERS[name](options.folder, options.seconds, options.batch)
        print(f"{name}: {images / seconds:.0f} images/s, {images / busy:.0f} images per second of processor time",
              flush=True)


if __name__ == "__main__":
    main()
