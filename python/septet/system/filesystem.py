"""Which file system a path is on, whether it is local, and whether a program synchronises the folder.

Read from what Linux tells of its mounts; elsewhere the file system is unknown, which counts as local.
"""

from __future__ import annotations

import os
import re
import stat
from contextlib import suppress

__all__ = ["REMOTE", "create_private", "file_system", "is_local", "mounted", "synchronised"]

#: File systems whose files other machines may change, or whose memory maps and locks another machine does not see.
REMOTE = frozenset(
    """
    9p acfs afs aufs-nfs beegfs ceph cifs coda davfs fhgfs gfs gfs2 glusterfs gpfs kafs lustre mfs ncpfs nfs nfs4 ocfs2
    orangefs panfs prl_fs pvfs2 smb2 smb3 smbfs vboxsf virtiofs vmhgfs wekafs
    fuse.afpfs fuse.beegfs fuse.blobfuse fuse.blobfuse2 fuse.ceph fuse.ceph-fuse fuse.cephfs fuse.cifs fuse.curlftpfs
    fuse.davfs fuse.davfs2 fuse.gcsfuse fuse.glusterfs fuse.goofys fuse.google-drive-ocamlfuse fuse.grpcfuse
    fuse.gvfsd-fuse fuse.hdfs fuse.httpfs fuse.httpfs2 fuse.ipfs fuse.juicefs fuse.lizardfs fuse.mfs fuse.moosefs
    fuse.mount-s3 fuse.nfs fuse.obsfs fuse.onedriver fuse.osxfs fuse.pcloud fuse.rclone fuse.s3backer fuse.s3fs
    fuse.saunafs fuse.seadrive fuse.seaweedfs fuse.smbnetfs fuse.sshfs fuse.vmhgfs-fuse fuse.wdfs fuse.wfs
    """.split()
)
#: How folders of synchronising programs are called, and what these programs leave in the uppermost of them.
_NAMES = {
    "Dropbox": re.compile(r"Dropbox( \(.*\))?$"),
    "OneDrive": re.compile(r"OneDrive( - .*|-.*)?$"),
    "Google Drive": re.compile(r"(Google ?Drive( .*|-.*)?|My Drive)$"),
    "iCloud Drive": re.compile(r"(iCloud ?Drive( .*)?|Mobile Documents)$"),
    "Nextcloud": re.compile(r"Nextcloud\d*$"),
    "ownCloud": re.compile(r"own[Cc]loud\d*$"),
    "pCloud": re.compile(r"pCloud ?(Drive|Sync)$"),
    "MEGA": re.compile(r"MEGA(sync)?( .*)?$"),
    "Box": re.compile(r"(Box Sync|Box-Box)$"),
    "Synology Drive": re.compile(r"SynologyDrive(-.*)?$"),
    "Seafile": re.compile(r"Seafile$"),
    "Proton Drive": re.compile(r"Proton ?Drive(-.*)?$"),
    "a cloud service": re.compile(r"CloudStorage$"),
}
_MARKS = {
    ".stfolder": "Syncthing",
    ".dropbox.cache": "Dropbox",
    ".nextcloudsync.log": "Nextcloud",
    ".owncloudsync.log": "ownCloud",
    ".tmp.drivedownload": "Google Drive",
    ".sync/ID": "Resilio Sync",
}


def file_system(path: str | os.PathLike[str]) -> str:
    """Return the type of the file system that a path, or its nearest parent that exists, is on; "" when unknown."""
    try:
        here, device = _nearest(path)
        with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as told:
            return mounted(told.read(), here, f"{os.major(device)}:{os.minor(device)}")
    except (OSError, ValueError, AttributeError):
        # Not Linux, or a system that hides its mounts.
        return ""


def is_local(path: str | os.PathLike[str]) -> bool:
    """Say whether the file system under a path belongs to this machine alone; one that is unknown counts as local."""
    return file_system(path) not in REMOTE


def synchronised(path: str | os.PathLike[str]) -> str:
    """Return the name of the program that synchronises the folder of a path, "" if there seems to be none.

    Told by the names of the folders above it, and by what such programs leave in them.
    """
    try:
        folder = os.path.dirname(os.path.realpath(path))
    except (OSError, ValueError):
        return ""
    while True:
        parent, name = os.path.split(folder)
        for program, called in _NAMES.items():
            if called.match(name):
                return program
        for mark, program in _MARKS.items():
            if os.path.lexists(os.path.join(folder, mark)):
                return program
        if parent == folder:
            return ""
        folder = parent


def mounted(mounts: str, path: str, device: str) -> str:
    """Return the type of the file system of a path, given the mounts as Linux tells them; "" when none fits.

    Args:
        mounts: the text of ``/proc/self/mountinfo``.
        path: absolute and without symbolic links.
        device: of the path, as ``major:minor``.
    """
    found, longest = "", -1
    for line in mounts.splitlines():
        left, separator, right = line.partition(" - ")
        fields, kinds = left.split(" "), right.split(" ")
        if not separator or len(fields) < 5:
            continue
        if fields[2] == device:
            return kinds[0]
        # Some file systems give each part a device of its own; a later mount hides an earlier one at its place.
        place = re.sub(r"\\([0-7]{3})", lambda octal: chr(int(octal[1], 8)), fields[4])
        if (path + "/").startswith(place.rstrip("/") + "/") and len(place) >= longest:
            found, longest = kinds[0], len(place)
    return found


def _nearest(path: str | os.PathLike[str]) -> tuple[str, int]:
    """Return a path without links, or its nearest parent that exists, and the device it is on."""
    here = os.path.realpath(path)
    while True:
        try:
            return here, os.stat(here).st_dev
        except OSError:
            parent = os.path.dirname(here)
            if parent == here:
                raise
            here = parent


def create_private(path: str) -> None:
    """Create an empty file that its owner alone may read, unless it is there.

    In a folder that gives its files to a group, by its setgid bit or a default access list, the umask and that list
    decide. Where the system refuses, nothing is created; who opens the file says why.
    """
    path = os.path.realpath(path)
    with suppress(OSError):
        if not os.path.lexists(path):
            mode = 0o666 if _is_shared(os.path.dirname(path)) else 0o600
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, mode))


def _is_shared(folder: str) -> bool:
    if os.stat(folder).st_mode & stat.S_ISGID:
        return True
    try:
        return "system.posix_acl_default" in os.listxattr(folder)
    except (AttributeError, OSError):
        # Elsewhere than on Linux, or a file system without lists.
        return False
