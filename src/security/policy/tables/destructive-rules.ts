/** Places and names whose loss nobody means. */
import { list, setOf } from '../../list.ts';

/** A disk, or the kernel's memory: writing to it destroys what is on it. */
export const RAW_DEVICE =
  /^\/dev\/(?:[shv]d[a-z*?[]|xvd[a-z*?[]|nvme[\d*?[]|mmcblk\d|r?disk\d|md\d|md\/|dm-\d|loop\d|nbd\d|mapper\/.|disk\/|root$|mem$|kmem$|port$|mtd|zvol\/|sr\d)|^\/proc\/(?:sysrq-trigger|kcore)$/;

/** Directories of the system, with nothing below them named. */
export const SYSTEM_DIRECTORY =
  /^\/(?:bin|boot|dev|etc|home|lib|lib32|lib64|libx32|opt|proc|root|run|sbin|srv|sys|usr|usr\/bin|usr\/lib|usr\/local|usr\/share|usr\/sbin|var|var\/lib|Users|System|Library|Applications|Volumes|private|private\/etc|private\/var|mnt|media|nix|nix\/store)$/;

/** They end the machine, whatever they are told besides these words. */
export const POWER = setOf('shutdown reboot halt poweroff kexec telinit');
export const POWER_HARMLESS = /^(?:--help|--version|-c|--show|-h\?|-w|--wtmp-only)$/;
export const SYSTEMCTL_POWER =
  /^(?:poweroff|reboot|halt|kexec|soft-reboot|suspend|hibernate|hybrid-sleep|suspend-then-hibernate|rescue|emergency|isolate|default|exit)$/;

/** They change a disk where they are given one. */
export const DISK_WRITERS = setOf(
  'mkfs mke2fs mkswap mkdosfs mkntfs newfs wipefs blkdiscard sgdisk gdisk cgdisk sfdisk fdisk cfdisk parted partprobe hdparm nvme badblocks cryptsetup pvcreate pvremove vgremove lvremove zpool mdadm dd shred truncate tee cp mv install ddrescue dcfldd pv fallocate diskutil newfs_apfs newfs_hfs',
);

/** Tests of find that narrow down what is deleted. */
export const NARROWING =
  /^-(?:i?name|i?path|i?wholename|i?regex|i?lname|[acm]min|[acm]time|newer\w*|size|empty|user|group|uid|gid|inum|perm|samefile|links|maxdepth)$/;

/** Names that a pattern for a command may turn into. */
export const GUESSED_NAMES: readonly string[] = list(
  'rm dd mkfs shred wipefs chmod chown mv find shutdown reboot halt poweroff kill pkill killall',
);

/** Programs that run code or commands out of their arguments. */
export const CODE_PROGRAMS =
  /^(?:python[\d.]*|node|nodejs|deno|bun|perl|ruby|php|lua|[gmn]?awk|vim?|nvim|ex|emacs|tar|g?sed|git)$/;
