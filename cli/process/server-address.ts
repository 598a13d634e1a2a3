// Where a server of this machine is reached: an address that a program on the same machine can call.

import type { Config } from '../../src/config/schema'
import { inBrackets } from '../../src/lib/url-host'
import { dataDirOf, loadConfig, type SettingsFlags } from '../configuration/settings'
import { askServer } from './control'

const DEFAULT_HOST = '127.0.0.1'
const DEFAULT_PORT = 8080

/** The configured address of a server: `http://127.0.0.1:8080`, or `unix:/run/gateway.sock`. */
export function listeningAddress(
  { server: { host, port, tls, unixSocket } = {} }: Pick<Config, 'server'>,
  { GATEWAY_HOST: hostVariable, GATEWAY_PORT: portVariable }: Readonly<Record<string, string | undefined>>,
): string {
  if (unixSocket && !hostVariable && !portVariable) return `unix:${unixSocket}`
  const name = hostVariable || host || DEFAULT_HOST
  return callable(`http${tls ? 's' : ''}://${inBrackets(name)}:${portVariable || port || DEFAULT_PORT}`)
}

/** The address of the server that runs on the data directory, or else the configured address. */
export async function serverAddress(flags: SettingsFlags): Promise<string> {
  const running = await askServer(dataDirOf(flags), 'GET /status')
  if (running) return callable(running.url)
  return listeningAddress((await loadConfig(flags)).config, process.env)
}

/** The address with a host that can be called, if the configured one means all interfaces. */
export function callable(url: string): string {
  return url.replace('//0.0.0.0:', '//127.0.0.1:').replace('//[::]:', '//[::1]:')
}
