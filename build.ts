// Builds the executable: for this machine, or with --all for every platform that people run.
// The executable must never load a bunfig.toml or .env of the folder it is started in: they could run foreign code.

import { $ } from 'bun'

const platforms = ['linux-x64', 'linux-arm64', 'darwin-x64', 'darwin-arm64', 'windows-x64', 'windows-arm64'] as const

async function build(outfile: string, platform?: (typeof platforms)[number]): Promise<void> {
  const target = platform ? [`--target=bun-${platform}`] : []
  await $`bun build --compile --minify-syntax --minify-whitespace --sourcemap=none --no-compile-autoload-bunfig --no-compile-autoload-dotenv ${target} ./cli/main.ts ./src/token-worker.ts --outfile ${outfile}`.quiet()
  console.log(`${outfile} ${(Bun.file(platform?.startsWith('windows') ? `${outfile}.exe` : outfile).size / 1e6).toFixed(0)} MB`)
}

if (process.argv.includes('--all')) {
  for (const platform of platforms) await build(`dist/gateway-${platform}`, platform)
} else {
  await build('dist/gateway')
}
