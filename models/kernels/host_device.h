// What is compiled for the device by nvcc and for the host by everything else.
#ifndef LRA_MODELS_KERNELS_HOST_DEVICE_H_
#define LRA_MODELS_KERNELS_HOST_DEVICE_H_

#ifdef __CUDACC__
#define LRA_HOST_DEVICE __host__ __device__
#define LRA_DEVICE __device__  // called by kernels alone, and by the host's test of them
#define LRA_UNROLL _Pragma("unroll")
#else
#define LRA_HOST_DEVICE
#define LRA_DEVICE
#define LRA_UNROLL
#endif

#endif  // LRA_MODELS_KERNELS_HOST_DEVICE_H_
