/**
 * The program that `sudo -A`, `ssh` and `git` call for a password where there is no terminal. It asks this server over a
 * socket beside it, which is the only thing in its directory that leads anywhere, so that the directory can be shown in a
 * sandbox without a network. By its marker the server knows which execution asks. What it asks with is the command's own
 * text: anything in the execution can call it.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { makePrivateDirectory } from '../base/files.ts';
import { MARKER_NAME } from '../base/marker.ts';
import { canExecute } from './sandbox/host-files.ts';

/** Where the directory is in a sandbox. */
export const ASKPASS_PLACE = '/run/mcp-shell-askpass';
export const ASKPASS_SOCKET = 'socket';
const PROGRAM = 'askpass';
export const PERL = '/usr/bin/perl';

export const askpassDirectory = (runDirectory: string): string => join(runDirectory, 'askpass');
export const askpassProgram = (directory: string): string => join(directory, PROGRAM);

export const hasAskpass = (): boolean => canExecute(PERL);

/** Makes the directory with the program in it, and returns it. */
export function makeAskpass(directory: string): string {
  makePrivateDirectory(directory);
  writeFileSync(askpassProgram(directory), SCRIPT, { mode: 0o700 });
  return directory;
}

/** An answer begins with its kind: the password, or why there is none. */
export const GIVEN = '+';
export const REFUSED = '-';

/** By a relative name, since the whole path may be too long for the address of a socket. */
const SCRIPT = `#!${PERL}
use strict;
use Socket;
my ($place) = $0 =~ m{^(.*)/};
chdir($place) or die "mcp-shell-server: $place: $!\\n";
socket(my $server, PF_UNIX, SOCK_STREAM, 0) or die "mcp-shell-server: $!\\n";
connect($server, pack_sockaddr_un('${ASKPASS_SOCKET}')) or die "mcp-shell-server: nobody can be asked: $!\\n";
my $question = ($ENV{'${MARKER_NAME}'} // '') . "\\n" . join(' ', @ARGV);
syswrite($server, substr($question, 0, 4000)) or die "mcp-shell-server: $!\\n";
shutdown($server, 1);
my $answer = '';
while (sysread($server, $answer, 4096, length $answer)) {}
if ($answer !~ s/^\\${GIVEN}//) {
  $answer =~ s/^\\${REFUSED}//;
  print STDERR "mcp-shell-server: no password: ", ($answer || 'the server is gone'), "\\n";
  exit 1;
}
print $answer, "\\n";
`;
