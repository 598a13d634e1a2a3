// A process that registers in a data directory without the lock of a server, and expects to be killed.

import { registerProcess } from '../../../cli/process/processes'

registerProcess(process.argv[2] ?? '')
console.log('registered')
setInterval(() => {}, 1_000)
