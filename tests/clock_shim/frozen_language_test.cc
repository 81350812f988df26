// Programs in Python, for Node and for a shell: their clock, their random numbers, their waits.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/clock_shim/frozen_runs.h"

namespace reenact::clock_shim {
namespace {

// Waits that a program judges by the monotonic clock: it prints of those that end early or late.
void ExpectWaitsInTime(const std::vector<std::string>& argv) {
  const Recording first = Record(argv);
  ASSERT_EQ(first.outcome.output, "judged\n");
  ASSERT_TRUE(first.report.reached);
  for (const int64_t days : {2, -2}) {
    schema::RecordedRun run = first.run;
    MoveBack(days * kDayNs, &run);
    const Replayed second = Replay(run, argv);
    EXPECT_FALSE(second.outcome.hung) << days;
    EXPECT_EQ(second.outcome.output, "judged\n") << days;
    EXPECT_EQ(second.outcome.status, 0) << days;
  }
}

// Those of multiprocessing are absolute, on the wall clock.
TEST(FrozenClock, WaitsOfPythonEndInTimeWhenTheTapeIsDaysOld) {
  ExpectWaitsInTime(
      {REENACT_PYTHON, "-c",
       "import asyncio, concurrent.futures, multiprocessing, queue, subprocess, threading, time\n"
       "def judge(name, wait):\n"
       "  begin = time.monotonic()\n"
       "  wait()\n"
       "  took = time.monotonic() - begin\n"
       "  if not 0.145 < took < 2.15: print(name, took)\n"
       "def expect(kind, wait):\n"
       "  try: wait()\n"
       "  except kind: return\n"
       "  print('no end by time')\n"
       "def condition(made):\n"
       "  with made: made.wait(0.15)\n"
       "taken = threading.Lock()\n"
       "taken.acquire()\n"
       "judge('sleep', lambda: time.sleep(0.15))\n"
       "judge('condition', lambda: condition(threading.Condition()))\n"
       "judge('event', lambda: threading.Event().wait(0.15))\n"
       "judge('lock', lambda: taken.acquire(timeout=0.15))\n"
       "judge('queue', lambda: expect(queue.Empty, lambda: queue.Queue().get(timeout=0.15)))\n"
       "judge('future', lambda: expect(concurrent.futures.TimeoutError,\n"
       "  lambda: concurrent.futures.Future().result(timeout=0.15)))\n"
       "judge('task', lambda: expect(asyncio.TimeoutError,\n"
       "  lambda: asyncio.run(asyncio.wait_for(asyncio.sleep(9), 0.15))))\n"
       "judge('semaphore', lambda: multiprocessing.Semaphore(0).acquire(timeout=0.15))\n"
       "judge('shared condition', lambda: condition(multiprocessing.Condition()))\n"
       "judge('process', lambda: expect(subprocess.TimeoutExpired,\n"
       "  lambda: subprocess.run(['sleep', '9'], timeout=0.15)))\n"
       "print('judged', time.time() and '', sep='')\n"});
}

TEST(FrozenClock, WaitsOfNodeEndInTimeWhenTheTapeIsDaysOld) {
  if (std::string(REENACT_NODE).empty()) GTEST_SKIP() << "no node was found";
  ExpectWaitsInTime({REENACT_NODE, "--input-type=module", "-e",
                     "import {setTimeout as sleep} from 'node:timers/promises';"
                     "import {spawnSync} from 'node:child_process';"
                     "import {Worker} from 'node:worker_threads';"
                     "import {once} from 'node:events';"
                     "const judge = async (name, wait) => {"
                     "  const begin = performance.now();"
                     "  Date.now();"
                     "  await wait();"
                     "  const took = performance.now() - begin;"
                     "  if (!(took > 145 && took < 2150)) console.log(name, took);"
                     "};"
                     "const cell = new Int32Array(new SharedArrayBuffer(4));"
                     "await judge('timer', () => sleep(150));"
                     "await judge('atomic', () => Atomics.wait(cell, 0, 0, 150));"
                     "await judge('abort', () => sleep(9000, null, {signal: "
                     "AbortSignal.timeout(150)}).catch(() => {}));"
                     "await judge('process', () => spawnSync('sleep', ['9'], {timeout: 150}));"
                     "await judge('worker', () => once(new Worker("
                     "  'Date.now(); Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, "
                     "150)', {eval: true}), 'exit'));"
                     "console.log('judged');"});
}

TEST(FrozenRandom, PythonDrawsTheSame) {
  ExpectTheSame(
      {REENACT_PYTHON, "-c",
       "import random,uuid,os,secrets,time,datetime,threading,subprocess,queue\n"
       "print(random.random(), uuid.uuid4(), os.urandom(5), secrets.token_hex(8))\n"
       "print(open('/dev/urandom','rb').read(8), hash('a string'), {'a','b','c'})\n"
       "print(datetime.datetime.now(), time.strftime('%c'))\n"
       "begin = time.monotonic()\n"
       "threading.Event().wait(0.1)\n"
       "try: queue.Queue().get(timeout=0.1)\n"
       "except queue.Empty: pass\n"
       "print(0.2 <= time.monotonic() - begin < 3)\n"
       "runs = [subprocess.Popen(['date', '+%N'], stdout=subprocess.PIPE) for _ in range(3)]\n"
       "print([run.communicate()[0] for run in runs])\n"},
      5, /*random=*/true);  // As many as are written here; Python 3.11 makes some of its own.
}

TEST(FrozenRandom, NodeDrawsTheSame) {
  if (std::string(REENACT_NODE).empty()) GTEST_SKIP() << "no node was found";
  ExpectTheSame(
      {REENACT_NODE, "--input-type=module", "-e",
       "import {randomUUID, randomBytes, randomInt, randomFillSync} from 'node:crypto';"
       "import {setTimeout as sleep} from 'node:timers/promises';"
       "import {Worker} from 'node:worker_threads';"
       "console.log(Math.random(), randomUUID(), randomBytes(5).toString('hex'), randomInt(100),"
       "  crypto.randomUUID(), crypto.getRandomValues(new Uint16Array(3)).join(),"
       "  randomFillSync(new Uint32Array(2), 1).join(), randomBytes(5000).toString('hex').length);"
       "const begin = performance.now();"
       "await Promise.all([1, 2, 3].map((i) => sleep(20 * i)));"
       "console.log(new Date().toISOString(), performance.now() - begin >= 59);"
       "const worker = new Worker('require(\"worker_threads\").parentPort.postMessage("
       "  [Math.random(), Date.now()])', {eval: true, execArgv: []});"
       "worker.on('message', (drawn) => console.log(drawn));"},
      3, /*random=*/true);
}

TEST(FrozenRandom, TwoRecordingsDrawDifferently) {
  const std::vector<std::string> argv = {REENACT_PYTHON, "-c", "import os; print(os.urandom(16))"};
  EXPECT_NE(Record(argv, true).outcome.output, Record(argv, true).outcome.output);
}

TEST(FrozenClock, ShellsWithFunctionsOfTheirOwnRunUnderIt) {
  ExpectTheSame(
      {"/bin/bash", "-c", "x=$(date +%s.%N); echo $x; date +%N; (date +%N; exec date +%N)"}, 4);
}

// Without --random it is none of our business.
TEST(FrozenRandom, IsLeftAloneUnlessAskedFor) {
  const std::vector<std::string> argv = {REENACT_PYTHON, "-c", "import os; print(os.urandom(16))"};
  const Recording first = Record(argv);
  EXPECT_NE(Replay(first.run, argv).outcome.output, first.outcome.output);
}

}  // namespace
}  // namespace reenact::clock_shim
