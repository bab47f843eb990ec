"""What dumpsys says of apps: package, meminfo, activity (exit-info, processes), dropbox."""

import os
from typing import List

from host_tools.virtual_device import evidence
from host_tools.virtual_device.call import Call
from host_tools.virtual_device.commands.pm import short
from host_tools.virtual_device.commands.services import dump
from host_tools.virtual_device.packages import Installed


def _names(call: Call) -> List[str]:
    return [word for word in call.argv[1:] if not word.startswith("-")]


@dump("package")
def package(call: Call) -> int:
    names = _names(call)
    found = [one for one in call.device.packages.all() if not names or one.package == names[0]]
    if names and not found:
        call.line(f"Unable to find package: {names[0]}")
        return 0
    call.line("Packages:")
    for one in found:
        call.line("\n".join(_package(one)))
    return 0


def _package(one: Installed) -> List[str]:
    flags = "HAS_CODE ALLOW_CLEAR_USER_DATA" + (" DEBUGGABLE" if one.debuggable else "")
    rows = [
        f"  Package [{one.package}] ({one.sha256[:7]}):",
        f"    userId={one.uid}",
        f"    pkg=Package{{{one.sha256[:7]} {one.package}}}",
        f"    codePath={one.folder}",
        f"    resourcePath={one.folder}",
        f"    legacyNativeLibraryDir={one.folder}/lib",
        f"    primaryCpuAbi={one.abi or 'null'}",
        "    secondaryCpuAbi=null",
        f"    versionCode={one.version_code} minSdk={one.min_sdk} targetSdk={one.target_sdk}",
        f"    versionName={one.version_name}",
        "    apkSigningVersion=3",
        f"    flags=[ {flags} ]",
        f"    dataDir=/data/user/0/{one.package}",
        f"    timeStamp={evidence.moment(one.updated_s)[:19]}",
        f"    lastUpdateTime={evidence.moment(one.updated_s)[:19]}",
        f"    signatures=PackageSignatures{{{one.sha256[:7]} version:3, signatures:[{one.signer[:8]}], past signatures:[]}}",
        "    User 0: ceDataInode=0 installed=true hidden=false suspended=false stopped=false",
        f"      firstInstallTime={evidence.moment(one.first_installed_s)[:19]}",
    ]
    rows += [f"    instrumentation: {short(one, name)} (target={target})" for name, target in one.instrumentations]
    return rows


@dump("meminfo")
def meminfo(call: Call) -> int:
    """Total memory of an app; without a name, of all."""
    names = _names(call)
    running = [p for p in call.device.processes.all() if not names or names[0] in (p.one.package, str(p.pid))]
    if names and not running:
        call.line(f"No process found for: {names[0]}")
        return 0
    call.line("Applications Memory Usage (in Kilobytes):\nUptime: 0 Realtime: 0\n")
    for process in running:
        kib = process.resident_bytes() // 1024
        call.line(f"** MEMINFO in pid {process.pid} [{process.one.package}] **")
        call.line(f"                   Pss      Rss\n        TOTAL {kib:8d} {kib:8d}\n")
        call.line(f" App Summary\n           TOTAL PSS: {kib:8d}            TOTAL RSS: {kib:8d}\n")
    return 0


@dump("activity")
def activity(call: Call) -> int:
    names = _names(call)
    if names[:1] == ["exit-info"]:
        return _exit_info(call, names[1:])
    call.line("ACTIVITY MANAGER RUNNING PROCESSES (dumpsys activity processes)")
    for process in call.device.processes.all():
        uid = f"u0a{process.one.uid - 10000}"
        call.line(f"  *APP* UID {process.one.uid} ProcessRecord{{{process.pid}:{process.one.package}/{uid}}}")
    return 0


def _exit_info(call: Call, names: List[str]) -> int:
    known = call.device.evidence
    call.line("ACTIVITY MANAGER PROCESS EXIT INFO (dumpsys activity exit-info)")
    call.line("Last Timestamp of Persistence Into Persistent Storage: 1970-01-01 00:00:00.000")
    for name in names or known.packages():
        exits = known.exits(name)
        if exits:
            call.line(f"  package: {name}\n    Historical Process Exit for uid={exits[0].uid}")
            for number, one in enumerate(exits):
                call.line("\n".join(one.lines(number)))
    return 0


@dump("dropbox")
def dropbox(call: Call) -> int:
    """All entries, or those of a tag; with --print, their text."""
    names = _names(call)
    found = [drop for drop in call.device.evidence.drops if not names or drop.tag == names[0]]
    call.line(f"Drop box contents: {len(found)} entries\nMax entries: 1000")
    if names:
        call.line(f"Searching for: {names[0]}")
    for drop in found:
        call.line("\n========================================" if "--print" in call.argv else "")
        call.line(f"{evidence.moment(drop.time_s)[:19]} {drop.tag} (text, {len(drop.text)} bytes)")
        call.out(os.fsencode(drop.text if "--print" in call.argv else "    " + drop.text.replace("\n", "/")[:70] + "\n"))
    if not found:
        call.line("(No entries found.)")
    return 0
