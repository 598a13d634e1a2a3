// The checks of `gateway doctor` on the machine: disk, clock, open files, permissions, certificate. It must never change anything.

import { existsSync, statfsSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { certificateEndsAt } from '../../src/config/listening'
import type { Config } from '../../src/config/schema'
import { isoTime } from '../../src/db/iso-time'
import { type OrphanedRecord, pendingFiles, readPending } from '../../src/db/pending-file'
import { lineOf } from '../../src/lib/error-line'
import { descriptorLimit } from '../process/sockets'
import { broken, type Finding, ok, warning } from './findings'

/** Free space below which no new request is accepted (`/health/ready`). */
const MIN_FREE_BYTES = 64e6
const LITTLE_FREE_BYTES = 1e9
/** Signatures of webhooks are refused when they are five minutes old, and those of some vendors earlier. */
const WRONG_CLOCK_MS = 60_000
const LATE_CLOCK_MS = 5_000
/** Connections to callers and vendors, and files: enough for a node with a few thousand concurrent requests. */
const FEW_DESCRIPTORS = 16_384
const TOO_FEW_DESCRIPTORS = 1_024
const DAY_MS = 86_400_000
const EXPIRES_SOON_MS = 14 * DAY_MS

export function examineDisk(dataDir: string): Finding {
  const place = nearestFolder(dataDir)
  try {
    const { bavail, bsize } = statfsSync(place)
    const free = bavail * bsize
    const found = `${bytesText(free)} free in ${place}`
    const cure = 'Free some space, or move the data directory to a larger disk.'
    if (free < MIN_FREE_BYTES) return broken('disk', found, cure)
    return free < LITTLE_FREE_BYTES ? warning('disk', found, cure) : ok('disk', found)
  } catch (error) {
    return broken('disk', `${place}: ${lineOf(error)}`, 'Name another folder with --data-dir.')
  }
}

/** Another clock, read at about the same moment as ours. */
export interface OtherClock {
  name: string
  oursMs: number
  theirsMs: number
}

export function examineClock(others: readonly OtherClock[]): Finding {
  const worst = others
    .map(({ name, oursMs, theirsMs }) => ({ name, offMs: oursMs - theirsMs }))
    .sort((one, other) => Math.abs(other.offMs) - Math.abs(one.offMs))[0]
  if (!worst) return ok('clock', 'not compared: there is no database server and no vendor to ask')
  const seconds = Math.round(Math.abs(worst.offMs) / 1000)
  const found = `${seconds} s ${worst.offMs > 0 ? 'ahead of' : 'behind'} ${worst.name}`
  const cure = 'Let the system set its clock: timedatectl set-ntp true.'
  if (Math.abs(worst.offMs) >= WRONG_CLOCK_MS) return broken('clock', found, cure)
  if (Math.abs(worst.offMs) >= LATE_CLOCK_MS) return warning('clock', found, cure)
  return ok('clock', `as that of ${worst.name}`)
}

export function examineFiles(limit = descriptorLimit()): Finding {
  if (limit === undefined) {
    if (process.platform !== 'linux') return ok('open files', 'the limit is not looked at on this system')
    return warning(
      'open files',
      'the limit is unknown, and connections are not counted: /proc is not mounted',
      'Mount it: mount -t proc proc /proc.',
    )
  }
  const found = limit === Number.MAX_SAFE_INTEGER ? 'no limit' : `at most ${limit.toLocaleString('en')}`
  const cure = 'Raise it where the gateway starts: LimitNOFILE=65536 in the unit, or ulimit -n 65536.'
  if (limit < TOO_FEW_DESCRIPTORS) return broken('open files', found, cure)
  return limit < FEW_DESCRIPTORS ? warning('open files', found, cure) : ok('open files', found)
}

/** Checks who can read and write files that must stay private to the serving user. */
export function examinePermissions(
  dataDir: string,
  file: string | undefined,
  config: Config | undefined,
): Finding {
  // Windows has no such modes.
  if (process.platform === 'win32') return ok('permissions', 'not looked at on this system')
  const secrets = [config?.secrets?.keyFile, config?.server?.tls?.keyFile].filter(
    (path) => path !== undefined,
  )
  const faults = [
    ...openTo(dataDir, 0o066, 'is open to other users', 'chmod 700'),
    ...(file === undefined ? [] : openTo(file, 0o022, 'can be changed by other users', 'chmod go-w')),
    ...secrets.flatMap((path) => openTo(path, 0o044, 'can be read by other users', 'chmod 600')),
  ]
  if (faults.length > 0) {
    const found = faults.map(({ path, fault }) => `${path} ${fault}`).join('; ')
    return warning(
      'permissions',
      found,
      `Run: ${faults.map(({ path, command }) => `${command} ${path}`).join('; ')}`,
    )
  }
  const owner = statSync(dataDir, { throwIfNoEntry: false })?.uid
  const user = process.getuid?.()
  if (owner !== undefined && user !== undefined && owner !== user) {
    return warning(
      'permissions',
      `${dataDir} belongs to the user ${owner}, and this is the user ${user}`,
      'Run commands as the user of the gateway: sudo -u gateway gateway …',
    )
  }
  return ok('permissions', 'the data directory and secrets are closed to other users')
}

function openTo(path: string, bits: number, fault: string, command: string) {
  const mode = statSync(path, { throwIfNoEntry: false })?.mode ?? 0
  return (mode & bits) === 0 ? [] : [{ path, fault, command }]
}

/** When the configured certificate expires; undefined without a certificate. */
export function examineCertificate(config: Config | undefined, nowMs: number): Finding | undefined {
  const certFile = config?.server?.tls?.certFile
  if (certFile === undefined) return undefined
  try {
    const endsAt = certificateEndsAt(certFile)
    const leftMs = endsAt - nowMs
    const cure = `Renew ${certFile}; the gateway reads it again by itself.`
    if (leftMs <= 0) return broken('certificate', `ended at ${isoTime(endsAt)}`, cure)
    const found = `valid for ${Math.floor(leftMs / DAY_MS)} days`
    return leftMs < EXPIRES_SOON_MS ? warning('certificate', found, cure) : ok('certificate', found)
  } catch (error) {
    return broken(
      'certificate',
      `${certFile}: ${lineOf(error)}`,
      'Name a certificate as PEM in server.tls.certFile.',
    )
  }
}

/** Ends of charges that are on disk but not yet in the database; undefined if the database has all of them. */
export function examinePendingEnds(dataDir: string): Finding | undefined {
  let records: OrphanedRecord[]
  try {
    records = pendingFiles(dataDir).flatMap((name) => readPending(dataDir, name))
  } catch (error) {
    return broken('pending ends', lineOf(error), 'Run this as the user of the gateway.')
  }
  const failed = records.filter(({ hasFailed }) => hasFailed).length
  if (failed > 0) {
    return broken(
      'pending ends',
      `${failed} of ${records.length} ends of charges on the disk could not be made`,
      'The log says why under charge_not_ended; the next start of the gateway tries them again.',
    )
  }
  if (records.length === 0) return undefined
  return warning(
    'pending ends',
    `${records.length} ends of charges wait on the disk`,
    'They are made when the database takes changes again, or at the next start of the gateway: keep the data directory until then.',
  )
}

/** The folder itself, or the nearest one around it that exists. */
function nearestFolder(folder: string): string {
  const around = dirname(folder)
  return existsSync(folder) || around === folder ? folder : nearestFolder(around)
}

function bytesText(bytes: number): string {
  return bytes >= 1e9 ? `${(bytes / 1e9).toFixed(0)} GB` : `${(bytes / 1e6).toFixed(0)} MB`
}
