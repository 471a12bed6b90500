# SPDX-License-Identifier: BSD-3-Clause
# tests/base/circles.awk - from "FILE SYMBOL TYPE" (nm -P of every object, by its source) to the files that
# call each other in a circle, and the calls from a lower floor to a higher one. A line each:
#     circle FILE            up FILE -> FILE (SYMBOL)

# Folders of the transport, from the lowest.
BEGIN { split("comm shm device link feedback bind engine coll auto api", list, " "); for (i in list) folder[list[i]] = i }

function floor_of(file,    part)
{
    if (file ~ /^runtime\/base\//) return 0
    if (file ~ /^runtime\/sockets\//) return 0.5
    if (file ~ /^runtime\/(codec|topology|policy)\//) return 1
    if (split(file, part, "/") > 3 && part[2] == "transport") return 2 + folder[part[3]] / 100
    if (file ~ /^runtime\/scheduler\//) return 3
    return 4
}

# Is a file called by what it calls?
function returns(file,    reached, more, pair, part)
{
    reached[file] = 1
    do {
        more = 0
        for (pair in calls) {
            split(pair, part, SUBSEP)
            if (!(part[1] in reached)) continue
            if (part[2] == file) return 1
            if (!(part[2] in reached)) { reached[part[2]] = 1; more = 1 }
        }
    } while (more)
    return 0
}

$3 ~ /^[TDRBVWCu]$/ { if (!($2 in home)) home[$2] = $1 }
$3 == "U"           { wants[$1, $2] = 1 }
                    { files[$1] = 1 }

END {
    for (pair in wants) {
        split(pair, part, SUBSEP)
        from = part[1]
        if (!(part[2] in home)) continue
        to = home[part[2]]
        if (to == from || (from, to) in calls) continue
        calls[from, to] = 1
        room_from = room_to = ""
        if (floor_of(from) == 1 && floor_of(to) == 1) {
            split(from, a, "/"); split(to, b, "/")
            room_from = a[2]; room_to = b[2]
        }
        if (floor_of(from) < floor_of(to) || room_from != room_to)
            print "up " from " -> " to " (" part[2] ")"
    }
    # What calls nothing that is left, or is called by nothing that is left, is in no circle.
    do {
        removed = 0
        for (file in files) { out[file] = 0; in_[file] = 0 }
        for (pair in calls) {
            split(pair, part, SUBSEP)
            out[part[1]]++
            in_[part[2]]++
        }
        for (pair in calls) {
            split(pair, part, SUBSEP)
            if (out[part[2]] == 0 || in_[part[1]] == 0) { delete calls[pair]; removed++ }
        }
    } while (removed > 0)
    for (file in files) if (out[file] > 0 && in_[file] > 0 && returns(file)) print "circle " file
}
