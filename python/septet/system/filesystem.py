"""File system of a path: its type, whether it is local, and the program that synchronises the folder.

Read from Linux's mount table. On other systems the type is unknown, and unknown counts as local.
"""

from __future__ import annotations

import os
import re
import stat
import sys
from contextlib import suppress

from septet.system.host import host

#: File systems that other machines may write to, or that do not share memory maps and locks between machines.
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
#: Folder names of synchronising programs, and the marker files that these programs put into the root folder.
_NAMES = {
    "Dropbox": r"Dropbox( \(.*\))?$",
    "OneDrive": r"OneDrive( - .*|-.*)?$",
    "Google Drive": r"(Google ?Drive( .*|-.*)?|My Drive)$",
    "iCloud Drive": r"(iCloud ?Drive( .*)?|Mobile Documents)$",
    "Nextcloud": r"Nextcloud\d*$",
    "ownCloud": r"own[Cc]loud\d*$",
    "pCloud": r"pCloud ?(Drive|Sync)$",
    "MEGA": r"MEGA(sync)?( .*)?$",
    "Box": r"(Box Sync|Box-Box)$",
    "Synology Drive": r"SynologyDrive(-.*)?$",
    "Seafile": r"Seafile$",
    "Proton Drive": r"Proton ?Drive(-.*)?$",
    "a cloud service": r"CloudStorage$",
}
#: Beginnings of these names: other names need no pattern.
_BEGINNINGS = (
    *("Dropbox", "OneDrive", "Google", "My Drive", "iCloud", "Mobile", "Nextcloud", "own", "pCloud", "MEGA", "Box"),
    *("Synology", "Seafile", "Proton", "CloudStorage"),
)
_MARKS = {
    ".stfolder": "Syncthing",
    ".dropbox.cache": "Dropbox",
    ".nextcloudsync.log": "Nextcloud",
    ".owncloudsync.log": "ownCloud",
    ".tmp.drivedownload": "Google Drive",
    ".sync/ID": "Resilio Sync",
}


def file_system(path: str | os.PathLike[str]) -> str:
    """Return the type of the file system of a path or of its nearest existing parent; "" if unknown."""
    if sys.platform == "win32":
        return ""
    try:
        resolved, device = _nearest(path)
        with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as mounts:
            return mounted(mounts.read(), resolved, f"{os.major(device)}:{os.minor(device)}")
    except (OSError, ValueError, AttributeError):
        # Not Linux, or a sandbox without /proc.
        return ""


def is_local(path: str | os.PathLike[str]) -> bool:
    """Return True if only this machine uses the file system of a path; an unknown file system counts as local."""
    return file_system(path) not in REMOTE and not host.is_remote(path)


def synchronised(path: str | os.PathLike[str]) -> str:
    """Return the program that synchronises the folder of a path, by folder names and marker files; "" for none."""
    try:
        folder = os.path.dirname(os.path.realpath(path))
    except (OSError, ValueError):
        return ""
    while True:
        parent, name = os.path.split(folder)
        if name.startswith(_BEGINNINGS):
            for program, pattern in _NAMES.items():
                if re.match(pattern, name):
                    return program
        for mark, program in _MARKS.items():
            if os.path.lexists(os.path.join(folder, mark)):
                return program
        if parent == folder:
            return ""
        folder = parent


def mounted(mounts: str, path: str, device: str) -> str:
    """Return the type of the file system of a path from Linux's mount table; "" if no mount matches.

    Args:
        mounts: the text of ``/proc/self/mountinfo``.
        path: absolute path without symbolic links.
        device: device of the path, as ``major:minor``.
    """
    kind, longest = "", -1
    for line in mounts.splitlines():
        mount, separator, source = line.partition(" - ")
        fields, kinds = mount.split(" "), source.split(" ")
        if not separator or len(fields) < 5:
            continue
        if fields[2] == device:
            return kinds[0]
        # Some file systems (btrfs) give each subvolume its own device; a later mount hides an earlier one.
        mount_point = re.sub(r"\\([0-7]{3})", lambda octal: chr(int(octal[1], 8)), fields[4])
        if (path + "/").startswith(mount_point.rstrip("/") + "/") and len(mount_point) >= longest:
            kind, longest = kinds[0], len(mount_point)
    return kind


def _nearest(path: str | os.PathLike[str]) -> tuple[str, int]:
    """Return the resolved path or its nearest existing parent, and its device number."""
    resolved = os.path.realpath(path)
    while True:
        try:
            return resolved, os.stat(resolved).st_dev
        except OSError:
            parent = os.path.dirname(resolved)
            if parent == resolved:
                raise
            resolved = parent


def create_private(path: str) -> None:
    """Create an empty file that only its owner can read; an existing file stays as it is.

    In a folder shared with a group (setgid bit or default ACL), the umask and the ACL decide the mode. Errors are
    ignored: opening the file later raises them.
    """
    path = os.path.realpath(path)
    with suppress(OSError):
        if not os.path.lexists(path):
            mode = 0o666 if _is_shared(os.path.dirname(path)) else 0o600
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, mode))


def _is_shared(folder: str) -> bool:
    if os.stat(folder).st_mode & stat.S_ISGID:
        return True
    if sys.platform == "win32":
        return False
    try:
        return "system.posix_acl_default" in os.listxattr(folder)
    except (AttributeError, OSError):
        # Not Linux, or a file system without ACLs.
        return False
