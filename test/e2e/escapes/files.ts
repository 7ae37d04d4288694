/** Writing outside the workspace. */
import { existsSync } from 'node:fs';
import { ALL_PRESETS, type Attempt, number, python } from './attempt.ts';

const OVERWRITE = 'changed';

export const FILES: readonly Attempt[] = [
  {
    name: 'a file in the home directory is overwritten',
    presets: ALL_PRESETS,
    script: (t) => `echo ${OVERWRITE} > ${t.canary}`,
  },
  {
    name: 'a new file in the home directory',
    presets: ALL_PRESETS,
    script: (t) => `echo ${OVERWRITE} > ${t.canary}.new`,
  },
  {
    name: 'appending through ..',
    script: (t) => `cd ${t.work} && echo x >> ../outside/../outside/$(basename ${t.canary})`,
  },
  {
    name: 'through a symlink in the workspace',
    presets: ALL_PRESETS,
    script: (t) =>
      `cd ${t.work}; ln -sfn ${t.canary} to-canary 2>/dev/null; echo x > to-canary; echo x > ${t.work}/planted-link`,
  },
  {
    name: 'through a symlinked directory in the workspace',
    script: (t) =>
      `cd ${t.work}; ln -sfn ${t.home}/outside to-outside; echo x > to-outside/$(basename ${t.canary})`,
  },
  {
    name: 'through a hard link into the workspace',
    script: (t) => `cd ${t.work}; ln ${t.canary} hard && echo x > hard`,
  },
  {
    name: 'renaming a file of the workspace over it',
    script: (t) =>
      `cd ${t.work}; echo x > renamed; mv -f renamed ${t.canary}; ${python(`os.rename("${t.work}/renamed", "${t.canary}")`)}`,
  },
  {
    name: 'renaming it into the workspace',
    script: (t) =>
      `mv ${t.canary} ${t.work}/taken; ${python(`call(${number(316, 276)}, -100, b"${t.canary}", -100, b"${t.work}/exchange", 2)`)}`,
  },
  {
    name: 'removing it',
    presets: ALL_PRESETS,
    script: (t) => `rm -f ${t.canary}; ${python(`os.unlink("${t.canary}")`)}`,
  },
  { name: 'truncating it', script: (t) => `truncate -s 0 ${t.canary}; : > ${t.canary}` },
  { name: 'its mode', script: (t) => `chmod 777 ${t.canary} && echo ESCAPED` },
  { name: 'its owner', script: (t) => `chown 1:1 ${t.canary} && echo ESCAPED` },
  {
    name: 'its times',
    script: (t) =>
      `touch -d 2001-01-01 ${t.canary} && [ "$(stat -c %Y ${t.canary})" -lt 1000000000 ] && echo ESCAPED`,
  },
  {
    name: 'its extended attributes',
    script: (t) => python(`os.setxattr("${t.canary}", "user.mark", b"x"); escaped()`),
  },
  {
    name: 'through /proc/self/root',
    presets: ALL_PRESETS,
    script: (t) => `echo x > /proc/self/root${t.canary}; echo x > /proc/$$/root${t.canary}`,
  },
  {
    name: 'through /proc/1/root',
    presets: ALL_PRESETS,
    script: (t) =>
      `echo x > /proc/1/root${t.canary}; echo x > /proc/1/cwd${t.canary}; for p in /proc/[0-9]*; do echo x > $p/root${t.canary}; done`,
  },
  {
    name: 'through /oldroot and /newroot of the set-up',
    script: (t) =>
      `p=/proc/1/root; for r in /oldroot /newroot /old_root $p/oldroot; do echo x > $r${t.canary}; done`,
  },
  {
    name: 'through a descriptor of the directory, opened with O_PATH',
    script: (t) =>
      python(
        `d = os.open("${t.home}/outside", os.O_PATH)\nf = os.open(os.path.basename("${t.canary}"), os.O_WRONLY | os.O_TRUNC, dir_fd=d)\nos.write(f, b"x")`,
      ),
  },
  {
    name: 'reopening a read-only descriptor for writing',
    script: (t) =>
      python(
        `f = os.open("${t.canary}", os.O_RDONLY)\nos.write(os.open(f"/proc/self/fd/{f}", os.O_WRONLY), b"x")`,
      ),
  },
  {
    name: 'a shared writable mapping',
    script: (t) => python(`import mmap\nf = os.open("${t.canary}", os.O_RDWR)\nmmap.mmap(f, 0)[0:1] = b"X"`),
  },
  {
    name: 'copying ranges and splicing into it',
    script: (t) =>
      `cd ${t.work}; echo xxxx > source; cp --reflink=always source ${t.canary}; dd if=source of=${t.canary} conv=notrunc 2>/dev/null; exec 7<>${t.canary} && cat source >&7`,
  },
  {
    name: 'an unnamed file linked in (O_TMPFILE)',
    script: (t) =>
      python(
        `f = os.open("${t.work}", os.O_TMPFILE | os.O_WRONLY)\nos.write(f, b"x")\nos.link(f"/proc/self/fd/{f}", "${t.canary}.tmpfile", follow_symlinks=True)`,
      ),
  },
  {
    name: 'an unnamed file outside',
    script: (t) => python(`os.open("${t.home}/outside", os.O_TMPFILE | os.O_WRONLY); escaped()`),
  },
  {
    name: 'system directories',
    presets: ALL_PRESETS,
    script: () =>
      'for d in / /usr /usr/bin /usr/lib /etc /etc/cron.d /opt /var /var/lib /srv /boot /bin /lib; do [ -d $d ] && (: > $d/mcp-escape-$$) 2>/dev/null && echo ESCAPED $d; done',
  },
  {
    name: 'the user database',
    presets: ALL_PRESETS,
    script: () =>
      '(: >> /etc/passwd) 2>/dev/null && echo ESCAPED; (: >> /etc/hosts) 2>/dev/null && echo ESCAPED; (: >> /etc/ld.so.preload) 2>/dev/null && echo ESCAPED',
  },
  {
    name: 'a job of cron',
    script: () =>
      'for d in /etc/cron.d /etc/cron.hourly /var/spool/cron /var/spool/cron/crontabs /etc/systemd/system; do (: > $d/mcp-escape) 2>/dev/null && echo ESCAPED $d; done; echo "* * * * * true" | crontab - 2>/dev/null && echo ESCAPED',
  },
  {
    name: 'start-up files of shells',
    presets: ALL_PRESETS,
    script: (t) =>
      `for f in .bashrc .profile .zshrc .bash_profile .config/fish/config.fish; do (echo EVIL >> ${t.home}/$f) 2>/dev/null; done`,
  },
  {
    name: 'another person’s home',
    presets: ALL_PRESETS,
    script: (t) => `echo x > ${t.bob}/notes; echo x > ${t.bob}/new`,
  },
  {
    name: 'an ssh key is added',
    script: (t) => `mkdir -p ${t.home}/.ssh; echo key >> ${t.home}/.ssh/authorized_keys`,
  },
  {
    name: 'a program in ~/.local/bin or ~/bin',
    script: (t) =>
      `mkdir -p ${t.home}/.local/bin ${t.home}/bin; echo x > ${t.home}/.local/bin/ls; echo x > ${t.home}/bin/ls`,
  },
  {
    name: 'the host’s /tmp',
    presets: ALL_PRESETS,
    script: (t) =>
      `echo x > /tmp/mcp-escape-${t.serverPid}; echo x > /var/tmp/mcp-escape-${t.serverPid}; echo x > /dev/shm/mcp-escape-${t.serverPid}`,
    isSeen: (t) =>
      ['/tmp', '/var/tmp', '/dev/shm'].some((directory) =>
        existsSync(`${directory}/mcp-escape-${t.serverPid}`),
      ),
  },
  {
    name: 'the host’s /dev',
    presets: ALL_PRESETS,
    script: () =>
      '(: > /dev/mcp-escape) 2>/dev/null && echo ESCAPED; for d in /dev/sd[a-z] /dev/vd[a-z] /dev/nvme* /dev/mem /dev/kmsg /dev/port /dev/fuse /dev/kvm /dev/loop* /dev/uinput /dev/input/*; do [ -e $d ] && echo ESCAPED $d; done; true',
  },
  {
    name: 'past the time of a check: the canary is exchanged while it is opened',
    script: (t) =>
      python(
        `os.makedirs("${t.work}/flip", exist_ok=True)\np = "${t.work}/flip/f"\nend = time.time() + 0.3\nif os.fork() == 0:\n    while time.time() < end:\n        try:\n            open(p + "1", "w").close(); os.rename(p + "1", p)\n            os.symlink("${t.canary}", p + "2"); os.rename(p + "2", p)\n        except OSError: pass\n    os._exit(0)\nwhile time.time() < end:\n    try:\n        with open(p, "w") as f: f.write("x")\n    except OSError: pass\nos.wait()`,
      ),
  },
];
