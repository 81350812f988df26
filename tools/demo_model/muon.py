"""The optimizer Muon (Jordan et al., 2024): momentum whose matrix is made nearly orthogonal before each step."""
import torch


def orthogonal(matrix, iterations=5):
    """The singular values drawn near 1 by a quintic Newton-Schulz iteration."""
    x = matrix / (matrix.norm() + 1e-7)
    tall = x.shape[0] > x.shape[1]
    x = x.T if tall else x
    for _ in range(iterations):
        square = x @ x.T
        x = 3.4445 * x + (-4.7750 * square + 2.0315 * square @ square) @ x
    return x.T if tall else x


class Muon(torch.optim.Optimizer):
    def __init__(self, matrices, lr=0.02, momentum=0.95):
        super().__init__(matrices, {"lr": lr, "momentum": momentum})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for weight in group["params"]:
                state = self.state[weight]
                mean = state.setdefault("mean", torch.zeros_like(weight))
                mean.mul_(group["momentum"]).add_(weight.grad)
                ahead = weight.grad + group["momentum"] * mean
                scale = max(1.0, weight.shape[0] / weight.shape[1]) ** 0.5
                weight.mul_(1 - 0.01 * group["lr"]).add_(orthogonal(ahead), alpha=-group["lr"] * scale)
