"""The workloads and words of Orion, the calibration tool that database administrators know, run by fio."""
