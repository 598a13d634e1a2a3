// A real MariaDB server for tests of imports from MySQL: the installed one, or that of Debian's packages, unpacked next to the
// tests and never installed. Its data is deleted after the tests. TEST_MYSQL_URL names another server instead, such as a MySQL 8,
// with a user that may create databases.

import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { $, SQL } from 'bun'
import { whenTestsEnd } from '../ending'
import { waitFor } from '../gateway'
import { freePort } from '../processes/free-port'
import { temporaryFolder } from './databases'

/** The folder with `bin`, `sbin` and `share` of the server, and that of its libraries if they are not the system's. */
interface Programs {
  folder: string
  libraries: string
}

const PACKAGES = ['mariadb-server-core', 'mariadb-client']
/** Where the packages were unpacked, for later runs. */
const UNPACKED = join(tmpdir(), `gateway-${PACKAGES.join('-')}`)
/** Settings with which a killed server loses committed data, and work takes a fraction of the time. */
const NOT_DURABLE = ['--innodb-flush-log-at-trx-commit=0', '--innodb-log-file-size=8M', '--skip-log-bin']
const TLS = join(import.meta.dir, '../../fixtures/tls')

let found: Promise<Programs | null> | undefined
let server: Promise<string> | undefined

/** Whether a server is installed, or its packages can be downloaded. */
export async function hasMariadb(): Promise<boolean> {
  if (process.env.TEST_MYSQL_URL !== undefined) return true
  found ??= findPrograms()
  return (await found) !== null
}

/** Writes a database into a file, with the dump program of the server. */
export async function dumpMysql(
  address: string,
  file: string,
  options: readonly string[] = [],
): Promise<void> {
  found ??= findPrograms()
  const { folder, libraries } = (await found) as Programs
  const { hostname, port, username, password, pathname } = new URL(address)
  const place = ['-h', hostname, '-P', port, '-u', username, `-p${password}`, pathname.slice(1)]
  await $`${folder}/bin/mariadb-dump --no-defaults ${options} ${place} > ${file}`
    .env({ ...process.env, LD_LIBRARY_PATH: libraries })
    .quiet()
}

/** The address of a new, empty database. */
export async function mysqlUrl(): Promise<string> {
  server ??= process.env.TEST_MYSQL_URL ? Promise.resolve(process.env.TEST_MYSQL_URL) : startServer()
  const url = await server
  const name = `test_${crypto.randomUUID().replaceAll('-', '')}`
  await using admin = new SQL(url, { max: 1 })
  await admin.unsafe(`create database ${name}`)
  return new URL(name, url).href
}

async function findPrograms(): Promise<Programs | null> {
  if (existsSync('/usr/sbin/mariadbd') && existsSync('/usr/bin/mariadb-dump'))
    return { folder: '/usr', libraries: '' }
  if (!existsSync(UNPACKED) && !(await unpack())) return null
  const [triplet = ''] = readdirSync(join(UNPACKED, 'usr/lib')).filter((name) => name.includes('-linux-'))
  const libraries = ['usr/lib', 'lib'].map((each) => join(UNPACKED, each, triplet)).join(':')
  return { folder: join(UNPACKED, 'usr'), libraries }
}

/** Downloads the packages with their missing dependencies. Returns whether that worked. */
async function unpack(): Promise<boolean> {
  if (!Bun.which('apt-get') || !Bun.which('dpkg-deb')) return false
  const folder = temporaryFolder()
  const [archives, lists, root] = ['archives', 'lists', 'root'].map((name) => join(folder, name))
  for (const each of [`${archives}/partial`, `${lists}/partial`, root])
    mkdirSync(each as string, { recursive: true })
  const own = ['-o', `Dir::Cache::archives=${archives}`, '-o', 'Debug::NoLocking=1']
  const download = (more: readonly string[]) =>
    $`apt-get ${own} ${more} -qq -y --no-install-recommends --download-only install ${PACKAGES}`
      .quiet()
      .nothrow()
  if ((await download([])).exitCode !== 0) {
    // The package lists of this machine are missing or old.
    const fresh = ['-o', `Dir::State::lists=${lists}`]
    if ((await $`apt-get ${own} ${fresh} -qq update`.quiet().nothrow()).exitCode !== 0) return false
    if ((await download(fresh)).exitCode !== 0) return false
  }
  for (const name of readdirSync(archives as string).filter((each) => each.endsWith('.deb')))
    await $`dpkg-deb -x ${join(archives as string, name)} ${root}`.quiet()
  // Done in one step, because another run may do the same.
  try {
    renameSync(root as string, UNPACKED)
  } catch {
    rmSync(root as string, { recursive: true, force: true })
  }
  return existsSync(UNPACKED)
}

async function startServer(): Promise<string> {
  found ??= findPrograms()
  const programs = await found
  if (!programs) throw new Error('there is no MariaDB here')
  const { folder, libraries } = programs
  const own = temporaryFolder()
  const [data, first] = [join(own, 'data'), join(own, 'first.sql')]
  const program = join(folder, 'sbin/mariadbd')
  const port = await freePort()
  const env = { ...process.env, LD_LIBRARY_PATH: libraries }
  const shared = ['--no-defaults', `--basedir=${folder}`, `--datadir=${data}`]
  mkdirSync(data)
  const asRoot = process.getuid?.() === 0 ? ['--user=root'] : []
  const begin = 'create database mysql;\nuse mysql;\nset @auth_root_socket = null;\n'
  await $`${program} ${shared} ${asRoot} --bootstrap < ${new Response(begin + systemTables(folder))}`
    .env(env)
    .quiet()
  writeFileSync(
    first,
    "create user 'tests'@'%' identified by 'secret';\ngrant all on *.* to 'tests'@'%' with grant option;\n",
  )
  const child = Bun.spawn(
    [
      program,
      ...shared,
      ...NOT_DURABLE,
      `--port=${port}`,
      '--bind-address=127.0.0.1',
      `--socket=${own}/socket`,
      `--ssl-cert=${TLS}/certificate.pem`,
      `--ssl-key=${TLS}/key.pem`,
      `--init-file=${first}`,
      ...asRoot,
    ],
    { env, stdout: 'ignore', stderr: 'ignore' },
  )
  whenTestsEnd(async () => {
    server = undefined
    child.kill()
    await child.exited
  })
  const url = `mysql://tests:secret@127.0.0.1:${port}/mysql`
  await waitFor(async () => {
    await using session = new SQL(url, { max: 1 })
    return session.unsafe('select 1').then(
      () => true,
      () => child.exitCode !== null,
    )
  })
  return url
}

/** The statements that create the server's own tables; their files have different names in each version. */
function systemTables(folder: string): string {
  const share = ['mariadb', 'mysql']
    .map((name) => join(folder, 'share', name))
    .find((each) => existsSync(each))
  const files = readdirSync(share ?? '').filter((name) => /_system_tables(_data)?\.sql$/.test(name))
  return files
    .sort((one, other) => one.length - other.length)
    .map((name) => readFileSync(join(share ?? '', name), 'utf8'))
    .join('\n')
}
