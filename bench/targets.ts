// The targets that are compared with the gateway: the mock vendor itself, the bare pipe, and nginx if it is installed. It must
// never give one of them an advantage: same machine, same request, same mock.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { accepts, Child, freePort } from './children'
import { vendorModel } from './exchange'

export type TargetName = 'mock' | 'nginx' | 'pipe' | 'gateway' | 'portkey' | 'litellm'
export type PerTarget<Value> = Partial<Record<TargetName, Value>>

export interface Target {
  name: TargetName
  port: number
  pid: number
  headers: Record<string, string>
  /** The target's name for a model of the mock. */
  model: (answer: string) => string
}

export async function startMock(directory: string): Promise<Target> {
  return await startOwn('mock', directory, (port) => [port])
}

export async function startPipe(directory: string, mockPort: number): Promise<Target> {
  return await startOwn('pipe', directory, (port) => [port, `http://127.0.0.1:${mockPort}`])
}

/** Starts a receiver of webhooks, which answers each after a delay. */
export async function startReceiver(
  name: 'quick' | 'slow',
  directory: string,
  delayMs: number,
): Promise<{ port: number }> {
  const port = freePort()
  const child = new Child({
    name: `${name}-receiver`,
    command: [process.execPath, join(import.meta.dir, 'receiver.ts'), String(port), String(delayMs)],
    directory,
    onMessage: () => {},
  })
  await child.ready(() => accepts(port))
  return { port }
}

async function startOwn(
  name: 'mock' | 'pipe',
  directory: string,
  argumentsFor: (port: string) => string[],
): Promise<Target> {
  const port = freePort()
  const child = new Child({
    name,
    command: [process.execPath, join(import.meta.dir, `${name}.ts`), ...argumentsFor(String(port))],
    directory,
    // Bun's fetch runs 256 requests at once and queues the others, unless configured otherwise at the start.
    environment: { BUN_CONFIG_MAX_HTTP_REQUESTS: '65535' },
    onMessage: () => {},
  })
  await child.ready(() => accepts(port))
  return { name, port, pid: child.pid, headers: {}, model: vendorModel }
}

/** Starts nginx; null if it is not installed. */
export async function startNginx(directory: string, mockPort: number): Promise<Target | null> {
  const executable = Bun.which('nginx')
  if (executable === null) return null
  const port = freePort()
  const configFile = join(directory, 'nginx.conf')
  writeFileSync(configFile, nginxConfig(directory, port, mockPort))
  const log = join(directory, 'nginx-error.log')
  const command = [executable, '-p', directory, '-e', log, '-c', configFile]
  const child = new Child({ name: 'nginx', command, directory })
  await child.ready(() => accepts(port))
  return { name: 'nginx', port, pid: child.pid, headers: {}, model: vendorModel }
}

/** The configuration of nginx: one process, so that one worker is the process that is measured. */
function nginxConfig(directory: string, port: number, mockPort: number): string {
  const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
  return `daemon off;
master_process off;
worker_processes 1;
worker_rlimit_nofile 16384;
pid ${directory}/nginx.pid;
events { worker_connections 8192; }
http {
  access_log off;
${paths.map((path) => `  ${path}_temp_path ${directory}/nginx-${path};`).join('\n')}
  client_body_buffer_size 64k;
  keepalive_requests 1000000000;
  upstream vendor {
    server 127.0.0.1:${mockPort};
    keepalive 2048;
    keepalive_requests 1000000000;
  }
  server {
    listen 127.0.0.1:${port};
    location / {
      proxy_pass http://vendor;
      proxy_http_version 1.1;
      proxy_set_header Connection '';
      proxy_buffering off;
    }
  }
}
`
}
