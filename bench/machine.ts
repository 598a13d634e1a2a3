// One line about the machine and the day of a run, without which its figures mean nothing. It must never name the
// user, the host or a path.
import { statfsSync } from 'node:fs'
import { cpus, release, totalmem, type } from 'node:os'

const FILE_SYSTEMS = new Map([
  [0xef53, 'ext4'],
  [0x01021994, 'tmpfs'],
  [0x58465342, 'xfs'],
  [0x9123683e, 'btrfs'],
  [0x794c7630, 'overlayfs'],
  [0x2fc12fc1, 'zfs'],
])

/** `dataDirectory` is on a disk, or in memory, where a durable write costs nothing: readers must know that. */
export function describeMachine(dataDirectory: string, nginx: boolean, othersShare: number): string {
  const processors = cpus()
  const parts = [
    `${processors[0]?.model.trim() ?? 'unknown processor'}, ${processors.length} cores`,
    `${Math.round(totalmem() / 2 ** 30)} GB`,
    `${type()} ${release().split('-')[0]} ${process.arch}`,
    `Bun ${Bun.version}`,
    ...(nginx ? [nginxVersion()] : []),
    `data on ${fileSystem(dataDirectory)}`,
    `other programs used ${Math.round(othersShare * 100)} % of the processors`,
    new Date().toISOString().slice(0, 10),
  ]
  return parts.join('; ')
}

function fileSystem(directory: string): string {
  if (process.platform !== 'linux') return 'the local disk'
  return FILE_SYSTEMS.get(statfsSync(directory).type) ?? 'another file system'
}

function nginxVersion(): string {
  const text = Bun.spawnSync(['nginx', '-v']).stderr.toString()
  return /nginx\/[\d.]+/.exec(text)?.[0].replace('/', ' ') ?? 'nginx'
}
