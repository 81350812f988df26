// Prints what the steps of a client came to, a line each: `tell(steps)` takes those that the command line names, or all.
export async function tell(steps) {
  const wanted = process.argv.slice(2);
  for (const name of wanted.length > 0 ? wanted : Object.keys(steps)) {
    let line;
    try {
      line = { got: await steps[name]() };
    } catch (error) {
      line = { failed: error.constructor.name, status: error.status ?? error.statusCode ?? null,
        message: `${error.message}`.split('\n')[0] };
    }
    console.log(name, JSON.stringify(line));
  }
}

// All that an asynchronous iterable yields; where it breaks off, what came until then and how it ended.
export async function drain(stream, pick) {
  const pieces = [];
  try {
    for await (const piece of stream) pieces.push(pick(piece));
  } catch (error) {
    pieces.push({ broke: error.constructor.name, message: `${error.message}`.split('\n')[0] });
  }
  return pieces;
}

export const order = { A7: { state: 'shipped', total: 120 } };
