"""Which file system a path is on, as Linux tells its mounts, and which folders are synchronised."""

import sys

import pytest

from septet.system import filesystem
from septet.system.filesystem import file_system, is_local, mounted, synchronised

MOUNTS = """\
22 27 0:21 / /proc rw,relatime - proc proc rw
27 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw,discard
40 27 0:40 / /home rw,relatime shared:2 master:3 - btrfs /dev/vdb rw,subvol=/home
41 27 0:41 / /mnt/team rw,relatime - autofs systemd-1 rw
42 41 0:42 / /mnt/team rw,relatime - nfs4 server:/team rw,vers=4.2
43 27 0:43 / /mnt/with\\040blank rw - cifs //server/share rw
44 27 0:44 / /mnt/far rw - fuse.sshfs me@far: rw
45 27 0:45 / /mnt/vault rw - fuse.gocryptfs /crypt rw
"""


@pytest.mark.parametrize(
    ("path", "device", "wanted"),
    [
        ("/var/v.db", "254:0", "ext4"),
        ("/mnt/team/v.db", "0:42", "nfs4"),
        ("/mnt/with blank/v.db", "0:43", "cifs"),
        ("/mnt/far/away/v.db", "0:44", "fuse.sshfs"),
        # A part of a file system with a device of its own: the mount above it tells.
        ("/home/me/v.db", "0:99", "btrfs"),
        ("/mnt/team/part/v.db", "0:99", "nfs4"),
        ("/mnt/with blank", "0:99", "cifs"),
        ("/mnt/teams/v.db", "0:99", "ext4"),
        ("/", "0:99", "ext4"),
    ],
)
def test_the_file_system_is_that_of_the_device_or_of_the_nearest_mount(path, device, wanted):
    assert mounted(MOUNTS, path, device) == wanted


@pytest.mark.parametrize("text", ["", "garbage", "1 2 3\n", "a b c d e f g", "22 27 0:21 / /proc rw"])
def test_mounts_that_make_no_sense_leave_the_file_system_unknown(text):
    assert mounted(text, "/v.db", "254:0") == ""


@pytest.mark.parametrize("kind", ["nfs", "nfs4", "cifs", "smb3", "9p", "ceph", "lustre", "fuse.sshfs", "fuse.rclone"])
def test_file_systems_of_other_machines_are_not_local(monkeypatch, kind):
    monkeypatch.setattr(filesystem, "file_system", lambda _path: kind)
    assert not is_local("/v.db")


@pytest.mark.parametrize("kind", ["ext4", "btrfs", "tmpfs", "overlay", "fuseblk", "fuse.gocryptfs", "zfs", ""])
def test_file_systems_of_this_machine_and_unknown_ones_are_local(monkeypatch, kind):
    monkeypatch.setattr(filesystem, "file_system", lambda _path: kind)
    assert is_local("/v.db")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads what Linux tells")
def test_a_path_that_does_not_exist_is_on_the_file_system_of_its_nearest_parent(tmp_path):
    assert file_system(tmp_path / "no" / "such" / "v.db") == file_system(tmp_path) != ""
    assert file_system("/proc/self/none") == "proc"


def test_a_link_is_followed_to_the_file_system_of_its_target(tmp_path):
    link = tmp_path / "link"
    link.symlink_to("/proc")
    assert file_system(link) == file_system("/proc")


def test_an_impossible_path_is_on_no_known_file_system():
    assert file_system("a\0b") == ""
    assert is_local("a\0b")
    assert synchronised("a\0b") == ""


@pytest.mark.parametrize(
    ("folder", "program"),
    [
        ("Dropbox", "Dropbox"),
        ("Dropbox (Personal)", "Dropbox"),
        ("OneDrive", "OneDrive"),
        ("OneDrive - Acme Ltd", "OneDrive"),
        ("Google Drive", "Google Drive"),
        ("GoogleDrive-me@example.org", "Google Drive"),
        ("Mobile Documents", "iCloud Drive"),
        ("iCloudDrive", "iCloud Drive"),
        ("Nextcloud", "Nextcloud"),
        ("CloudStorage", "a cloud service"),
    ],
)
def test_a_folder_is_synchronised_when_one_above_it_is_called_like_one(tmp_path, folder, program):
    assert synchronised(tmp_path / folder / "notes" / "v.db") == program
    assert synchronised(tmp_path / folder / "v.db") == program


@pytest.mark.parametrize("mark", [".stfolder", ".dropbox.cache", ".nextcloudsync.log"])
def test_a_folder_is_synchronised_when_a_program_left_its_mark_above_it(tmp_path, mark):
    (tmp_path / "a" / "b").mkdir(parents=True)
    assert synchronised(tmp_path / "a" / "b" / "v.db") == ""
    (tmp_path / "a" / mark).mkdir()
    assert synchronised(tmp_path / "a" / "b" / "v.db") == filesystem._MARKS[mark]
    assert synchronised(tmp_path / "v.db") == ""


@pytest.mark.parametrize("folder", ["dropbox-client", "Dropboxes", "notes", "OneDriver", "Sync", "boxes"])
def test_other_folders_are_not_synchronised(tmp_path, folder):
    assert synchronised(tmp_path / folder / "v.db") == ""
    # Nor is a file that only has such a name.
    assert synchronised(tmp_path / "Dropbox") == ""
